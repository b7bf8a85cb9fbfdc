import { generateKeyPairSync } from "node:crypto";
import { ManualClock } from "@reins/kit/manual-clock";
import type { Store } from "@reins/store";
import { expect, test } from "vitest";
import { Sequencer } from "./sequencer.ts";
import type { Progress } from "./tables/tables.ts";

test("waits for a look that began after the entry, not for one that was under way", async () => {
  const clock = new ManualClock();
  const looks: ((progress: Progress) => void)[] = [];
  const store = {
    node: { id: "a", epoch: 1 },
    query: () => new Promise<Progress>((resolve) => looks.push(resolve)),
    claim: async () => undefined,
  } as unknown as Store;
  const sequencer = new Sequencer({
    ...{ store, clock, privateKey: generateKeyPairSync("ed25519").privateKey },
    ...{ onPlaced: () => {}, onCheckpoint: () => {}, onError: (error) => expect.fail(String(error)) },
  });
  const before: Progress = { size: 1, first: null, last: null, isShared: true, checkpoint: undefined };
  const added: Progress = { ...before, first: 2, last: 2 };
  let isPlaced = false;

  await clock.advanceAndSettle(0);
  expect(looks).toHaveLength(1);
  void sequencer.placed().then(() => (isPlaced = true));
  looks[1]?.(added);
  await clock.advanceAndSettle(0);
  // This one was read before the entry was added.
  looks[0]?.(before);
  await clock.advanceAndSettle(50);
  expect(isPlaced).toBe(false);

  looks[2]?.(added);
  await clock.advanceAndSettle(50);
  expect(isPlaced).toBe(false);
  looks[3]?.({ ...before, size: 2 });
  await clock.advanceAndSettle(0);
  expect(isPlaced).toBe(true);
});
