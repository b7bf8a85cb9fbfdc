import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { change } from "../src/sqlite/sqlite-store.ts";
import type { Outcome } from "../src/sqlite/threads.ts";
import { type FaultPlan, Faults } from "../test/faults.ts";
import { openInProcess, write } from "../test/in-process.ts";
import { notes } from "../test/tables/notes.ts";
import { tally } from "../test/tables/tally.ts";
import { temporaryFolder } from "../test/temporary-folder.ts";

const raise = change(tally, "raise", { name: "x", by: 1 });
const add = (id: string) => write(raise, change(notes, "add", { id, text: "" }));
/** Each changes two tables; one, in the middle, contradicts the first. */
const BATCH = [add("a"), add("b"), add("a"), add("c")];
const ALL_OR_NOTHING = [["a", "b", "c"], []];

describe("a batch on a disk that fails at any of its statements", () => {
  it.each<Pick<FaultPlan, "fault" | "times" | "done">>([
    { fault: "SQLITE_FULL", times: 1 },
    { fault: "SQLITE_FULL", times: 2 },
    { fault: "SQLITE_FULL" },
    // A refused fsync comes after the writing.
    { fault: "SQLITE_IOERR_FSYNC", times: 1, done: true },
    { fault: "SQLITE_IOERR_FSYNC", times: 2, done: true },
    { fault: "SQLITE_IOERR_FSYNC", done: true },
    { fault: "SQLITE_IOERR_FSYNC", times: 1 },
    { fault: "SQLITE_IOERR_FSYNC" },
    { fault: "SQLITE_IOERR_WRITE", times: 1 },
    { fault: "SQLITE_CORRUPT", times: 1 },
    { fault: "SQLITE_BUSY", times: 1 },
    { fault: "SQLITE_NOMEM", times: 1 },
  ])(
    "is there as a whole or not at all, as reported to its callers: $fault, times: $times, done: $done",
    async (plan) => {
      const folder = await temporaryFolder();
      const empty = join(folder, "empty.db");
      (await openInProcess(empty)).close();
      let failures = 0;
      for (let after = 0; ; after += 1) {
        const path = join(folder, `${after}.db`);
        await copyFile(empty, path);
        const failed = await applyWithFault(path, { ...plan, after });
        if (failed === 0) break;
        failures += 1;
      }
      expect(failures).toBeGreaterThan(20);
    },
  );
});

async function applyWithFault(path: string, plan: FaultPlan): Promise<number> {
  const faults = new Faults();
  const opened = await openInProcess(path, faults);
  faults.plan(plan);
  const told = keptOf(opened.apply(BATCH));
  const { failed } = faults;
  faults.plan();
  expect(told).toEqual(failed === 0 ? ALL_OR_NOTHING[0] : expect.toBeOneOf(ALL_OR_NOTHING));

  const [now] = opened.apply([write(raise, change(tally, "inspect", { name: "x" }))]);
  if (now && "results" in now) {
    // Only a disk that can be trusted takes more, and the tables remember what is there and nothing else.
    expect(failed === 0 || /FULL|BUSY/.test(plan.fault)).toBe(true);
    const total = told.length + 1;
    expect(now.results).toMatchObject([total, { remembered: total, kept: total }]);
  } else expect(now).toMatchObject({ error: { code: expect.stringMatching(/^(io|corrupt)$/) } });
  opened.close();

  const again = await openInProcess(path);
  const ids = again.query("notes", "ids", null);
  expect(ids).toBeOneOf(ALL_OR_NOTHING);
  // What was refused by a failing disk may be there nevertheless; what was promised must be.
  if (told.length > 0) expect(ids).toEqual(told);
  const [more] = again.apply([add("more")]);
  expect(more).toHaveProperty("results");
  again.close();
  return failed;
}

function keptOf(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap((outcome, index) => ("results" in outcome ? [["a", "b", "-", "c"][index]!] : []));
}
