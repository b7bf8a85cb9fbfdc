import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { verify } from "../src/node/verify.ts";
import { VerifyError } from "../src/report.ts";
import { addToDatabase, artifactPath, writeDataFolder } from "../test/data-folder.ts";
import { LedgerMaker } from "../test/ledger-maker.ts";
import { faultsOf } from "../test/read.ts";
import { makeSample } from "../test/sample.ts";

const { ledger, seen } = makeSample();
const trust = { logKey: ledger.logKey, seen };

let folder: string;
let database: DatabaseSync;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-verify-"));
  database = await writeDataFolder(folder, ledger);
});

afterEach(async () => {
  if (database.isOpen) database.close();
  await rm(folder, { recursive: true });
});

describe("a data folder", () => {
  it("verifies while a writer has it open, and after", async () => {
    const expected = {
      ok: true,
      entries: 19,
      checkpoints: 4,
      signatures: 11,
      withheld: 1,
      seen: { holds: true },
    };
    expect(await verify(folder, trust)).toMatchObject(expected);
    database.close();
    expect(await verify(folder, trust)).toMatchObject(expected);
  });

  it("counts what was erased as withheld, and finds what was changed", async () => {
    const [digest = ""] = ledger.artifacts.keys();
    await rm(artifactPath(folder, digest));
    expect(await verify(folder, trust)).toMatchObject({ ok: true, withheld: 2 });
    await writeFile(artifactPath(folder, digest), "something else");
    expect(faultsOf(await verify(folder, trust))).toEqual(["artifact_mismatch@10"]);
  });

  it.each<[string, (path: string) => Promise<unknown>]>([
    ["a folder", (path) => mkdir(path)],
    ["a link to something without an end", (path) => symlink("/dev/zero", path)],
  ])("with %s in place of private content is an error that says so", async (_, put) => {
    const [digest = ""] = ledger.artifacts.keys();
    await rm(artifactPath(folder, digest));
    await put(artifactPath(folder, digest));
    await expect(verify(folder, trust)).rejects.toMatchObject({
      name: "VerifyError",
      code: "unreadable",
      message: expect.stringContaining(digest),
    });
  });

  it("is left as it was", async () => {
    await verify(folder, trust);
    expect(() => database.exec("INSERT INTO ledger_meta VALUES ('still', 'writable')")).not.toThrow();
  });

  it.each([
    [
      "a body changed",
      "UPDATE ledger_entries SET body = replace(body, 'allow', 'deny!') WHERE seq = 9",
      ["cid_mismatch@9", "signature_invalid@9"],
    ],
    [
      "a body in another form",
      "UPDATE ledger_entries SET body = replace(body, ',\"tags\"', ', \"tags\"') WHERE seq = 9",
      ["entry_not_canonical@9"],
    ],
    [
      "a body that is no object",
      "UPDATE ledger_entries SET body = '[]' WHERE seq = 9",
      ["entry_malformed@9", "chain_broken@10", "root_mismatch@4"],
    ],
    [
      "a body with a content id of its own",
      'UPDATE ledger_entries SET body = \'{"cid":"x",\' || substr(body, 2) WHERE seq = 18',
      ["member_repeated@18"],
    ],
    [
      "a content id changed",
      "UPDATE ledger_entries SET cid = replace(cid, substr(cid, 64), 'z') WHERE seq = 18",
      ["entry_malformed@18"],
    ],
    ["a copy changed", "UPDATE ledger_entries SET actor = 'another' WHERE seq = 9", ["copy_mismatch@9"]],
    ["an entry hidden from who searches", "DELETE FROM ledger_index WHERE seq = 9", ["copy_mismatch"]],
    [
      "an entry found under another quality",
      "UPDATE ledger_index SET quality = 'tool_call' WHERE quality = 'kill'",
      ["copy_mismatch"],
    ],
    [
      "an entry hidden from who searches by tag",
      "DELETE FROM ledger_tags WHERE tag = 'risk:high'",
      ["copy_mismatch"],
    ],
    [
      "an index that hides what is yet to come",
      "INSERT INTO ledger_index VALUES (1000000, 'kill', 'x', 'x')",
      ["copy_mismatch"],
    ],
    [
      "an entry removed",
      "DELETE FROM ledger_entries WHERE seq = 8",
      ["seq_mismatch@9", "chain_broken@9", "checkpoint_misplaced"],
    ],
    ["another key", "UPDATE ledger_meta SET value = 'none' WHERE name = 'log_key'", ["log_key_malformed"]],
    ["no origin", "DELETE FROM ledger_meta WHERE name = 'origin'", ["line_malformed"]],
    [
      "a checkpoint changed",
      "UPDATE ledger_checkpoints SET note = replace(note, 'reins', 'snier') WHERE size = 11",
      ["origin_mismatch"],
    ],
    [
      "a checkpoint of entries that are gone",
      "DELETE FROM ledger_entries WHERE seq > 14",
      ["checkpoint_misplaced"],
    ],
  ])("with %s", async (_, change, codes) => {
    database.exec(change);
    const report = await verify(folder, { logKey: ledger.logKey });
    expect(report.ok).toBe(false);
    expect(faultsOf(report)).toEqual(expect.arrayContaining(codes));
  });

  it("whose newest entries are not indexed yet, or that has no index, is as good", async () => {
    database.exec("DELETE FROM ledger_index WHERE seq > 5; DELETE FROM ledger_tags WHERE seq > 5");
    expect(await verify(folder, trust)).toMatchObject({ ok: true });
    database.exec("DROP TABLE ledger_index");
    expect(await verify(folder, trust)).toMatchObject({ ok: true });
  });

  it("with added entries that the log never signed", async () => {
    database.exec("DELETE FROM ledger_checkpoints WHERE size = 19");
    expect(faultsOf(await verify(folder, trust))).toEqual(["entries_uncovered@15"]);
  });

  it("that grows meanwhile is verified up to the last checkpoint", async () => {
    const growing = new LedgerMaker();
    const other = await mkdtemp(join(tmpdir(), "reins-verify-"));
    const writer = await writeDataFolder(other, growing);
    const grow = () => {
      const from = growing.entries.length;
      for (let count = 0; count < 50; count += 1)
        growing.append({ quality: "tool_call", entity: "session:one" });
      addToDatabase(writer, growing, from);
      // Now and then a checkpoint is due; in between there are always entries that none covers yet.
      if (from % 200 === 1) growing.checkpoint();
    };
    const timer = setInterval(grow, 5);
    try {
      const report = await verify(other, { logKey: growing.logKey });
      expect(faultsOf(report)).toEqual([]);
      expect(report.entries).toBeGreaterThan(0);
    } finally {
      clearInterval(timer);
      writer.close();
      await rm(other, { recursive: true });
    }
  });
});

describe("what is no data folder", () => {
  it("is an error, not a verdict", async () => {
    const empty = await mkdtemp(join(tmpdir(), "reins-verify-"));
    await expect(verify(empty)).rejects.toMatchObject({ code: "no_ledger" });
    await expect(verify(join(empty, "missing"))).rejects.toMatchObject({ code: "unreadable" });
    await writeFile(join(empty, "reins.db"), "not a database, but long enough to look like one".repeat(30));
    await expect(verify(empty)).rejects.toThrow(VerifyError);
    await rm(empty, { recursive: true });
    database.exec("DROP TABLE ledger_entries");
    await expect(verify(folder)).rejects.toMatchObject({ code: "no_ledger" });
  });
});
