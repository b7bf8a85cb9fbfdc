import { expect, test } from "vitest";
import { z } from "zod";
import { Mailbox } from "../src/mail/mailbox.ts";
import { noStore } from "../test/mail-home.ts";
import { scratchFolder } from "../test/scratch.ts";
import { run } from "./mail/run.ts";

const State = z.object({
  all: z.array(z.string()),
  recorded: z.array(z.string()),
  read: z.array(z.string()),
});
const Commit = z.object({ injected: z.number(), writes: z.number() });

/** How many crash points there are inside the commit, besides its start and its end. */
const PLACES = 4;

test("a crash anywhere in the commit leaves a message recorded and taken, or neither, and never twice", async () => {
  const home = await scratchFolder();
  const mailbox = new Mailbox({ home, tenant: "default", store: noStore });
  const sendTwo = async () => {
    for (const body of ["what is it now?", "what is it now?"])
      await mailbox.send({ from: "reed", to: "coder", subject: "", body });
  };

  /** Reads the state after the crash, then takes mail until the next one. */
  async function take(deadlyWrite: number) {
    const { signal, code, said, complained } = await run("injector", home, deadlyWrite);
    const [first = "", second] = said.trim().split("\n");
    const { all, recorded, read } = State.parse(JSON.parse(first));
    expect(recorded.toSorted()).toEqual(read.toSorted());
    expect(new Set(recorded).size).toBe(recorded.length);
    if (deadlyWrite > 0) expect(signal).toBe("SIGKILL");
    else expect({ code, complained }).toEqual({ code: 0, complained: "" });
    return { all, recorded, commit: second === undefined ? undefined : Commit.parse(JSON.parse(second)) };
  }

  await sendTwo();
  const { commit } = await take(0);
  expect(commit?.injected).toBe(2);
  const writes = commit?.writes ?? 0;
  const places = Array.from(
    { length: PLACES + 2 },
    (_, place) => 1 + Math.floor((place * (writes - 1)) / (PLACES + 1)),
  );
  expect(new Set(places).size).toBe(places.length);
  for (const deadlyWrite of places) {
    await sendTwo();
    await take(deadlyWrite);
  }
  await take(0);
  const { all, recorded } = await take(0);
  expect(recorded).toHaveLength(2 * (places.length + 1));
  expect(recorded.toSorted()).toEqual(all.toSorted());
});
