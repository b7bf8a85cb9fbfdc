import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KillJournal, type KillOrder, type KillReport } from "./journal.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-kills-"));
});
afterAll(() => rm(folder, { recursive: true }));

const order = (id: string): KillOrder => ({
  ...{ id, target: { kind: "all" }, tenant: null, by: "operator", reason: null },
});
const report = (id: string): KillReport => ({
  ...{ id, target: { kind: "all", name: null }, tenant: null, by: "operator", reason: null, at: "then" },
  gone: [{ pid: 7, command: "curl -H token:hush", agent: "claude" }],
  ...{ left: [], visibility: "marks", sessions: [], inside: [] },
});

describe("the journal of kills", () => {
  it("returns orders that the ledger lacks, with or without a report, and holds no command lines", async () => {
    const path = join(folder, "kills.jsonl");
    const journal = new KillJournal(path);
    expect(journal.unrecorded()).toEqual([]);
    for (const id of ["one", "two", "three"]) journal.ordered(order(id), new Date(0));
    journal.reported(report("one"));
    journal.reported(report("two"));
    journal.recorded("one");
    await appendFile(path, '{"order":{"id":"cut');
    const left = new KillJournal(path).unrecorded();
    expect(left.map(({ order: { id }, report: seen }) => [id, seen?.gone[0]?.pid])).toEqual([
      ["two", 7],
      ["three", undefined],
    ]);
    expect(await readFile(path, "utf8")).not.toContain("hush");
    journal.ordered(order("after the cut"), new Date(0));
    expect(journal.unrecorded().at(-1)).toMatchObject({ order: { id: "after the cut" } });
  });

  it("is removed once the ledger has every order", async () => {
    const path = join(folder, "other.jsonl");
    const journal = new KillJournal(path);
    journal.ordered(order("one"), new Date(0));
    journal.recorded("one");
    await expect(readFile(path)).rejects.toThrow("ENOENT");
    await appendFile(path, '{"order":{"id":"cut');
    journal.forgetRecorded();
    await expect(readFile(path)).rejects.toThrow("ENOENT");
  });
});
