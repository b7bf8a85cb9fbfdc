import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ManualClock, settled } from "@reins/kit/manual-clock";
import type { Draft } from "@reins/ledger";
import { expect, test } from "vitest";
import type { SessionRecord } from "./session-record.ts";
import { Sessions } from "./sessions.ts";

const entry: Draft = { quality: "session_lifecycle", actor: "a", target: "b", tags: [], payload: {} };
const record = (title: string) => ({ id: "one", title }) as SessionRecord;

function open() {
  const written: unknown[] = [];
  const recorded = Promise.withResolvers<void>();
  const harness = {
    store: {
      commit: async (changes: readonly { args: SessionRecord }[]) => written.push(changes[0]?.args.title),
    },
    record: async (_: unknown, options: { with: readonly { args: SessionRecord }[] }) => {
      await recorded.promise;
      written.push(options.with[0]?.args.title);
    },
  };
  const clock = new ManualClock();
  const records = new Sessions({ harness, clock, onError: () => undefined } as never);
  return { records, written, recorded, clock };
}

test("writes of a session are committed in the order of the calls, though one waits for the ledger", async () => {
  const { records, written, recorded } = open();
  const started = records.put(record("started"), { entry });
  const changed = records.put(record("changed"));
  await settled();
  expect(written).toEqual([]);
  recorded.resolve();
  await Promise.all([started, changed]);
  expect(written).toEqual(["started", "changed"]);
});

test("a write that may wait is merged with the next, and no record is written twice", async () => {
  const { records, written, clock } = open();
  const session = { record: record("first") };
  records.putLater(session);
  session.record = record("second");
  await clock.advanceAndSettle(20);
  expect(written).toEqual(["second"]);
  await records.put(session.record);
  expect(written).toEqual(["second"]);
  expect(records.isStored(session.record)).toBe(true);
  expect(records.isStored(record("other"))).toBe(false);
});

test("no other source of the host writes a session's record", async () => {
  const source = join(import.meta.dirname, "..");
  const writers: string[] = [];
  for await (const path of glob("**/*.ts", { cwd: source }))
    if (
      !path.endsWith(".test.ts") &&
      /change\(\s*sessionTables/.test(await readFile(join(source, path), "utf8"))
    )
      writers.push(path);
  expect(writers).toEqual([join("sessions", "sessions.ts")]);
});
