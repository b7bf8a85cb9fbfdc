import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Draft, KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite, type Store } from "@reins/store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkSeen, SeenMismatch } from "../src/ledger/check-seen.ts";
import { SeenCheckpoints } from "../src/ledger/seen-checkpoints.ts";

const draft = (n: number): Draft => ({ quality: "tool_call", actor: "reed", target: "bash", payload: { n } });

describe("a ledger that is opened again", () => {
  let folder: string;
  let seen: SeenCheckpoints;
  let notices: string[];
  const stores: Store[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "reins-seen-"));
    seen = new SeenCheckpoints(join(folder, "state"));
    notices = [];
  });
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
    await rm(folder, { recursive: true });
  });

  /** A ledger of a name; those with the same keys have the same verifier key. */
  async function ledgerOf(name: string, keys = "keys", origin = "reins/test"): Promise<Ledger> {
    const store = await openSqlite({ path: join(folder, `${name}.db`), tables: [ledgerTables] });
    stores.push(store);
    const signers = new KeyFolder(join(folder, keys));
    return Ledger.open({ store, signers, newOrigin: () => origin });
  }

  const check = (ledger: Ledger, home = "/home") =>
    checkSeen(ledger, home, seen, (message) => notices.push(message));

  it("is looked at for the first time once", async () => {
    const ledger = await ledgerOf("a");
    await check(ledger);
    await check(ledger);
    await ledger.record([draft(1)]);
    await check(ledger);
    expect(notices).toEqual([expect.stringContaining("First look at the ledger reins/test")]);
    expect((await seen.inHome("/home"))?.note).toBe((await ledger.checkpoint()).note);
  });

  it("has grown, by however much", async () => {
    const ledger = await ledgerOf("a");
    for (const count of [1, 1, 5, 300]) {
      await ledger.record(Array.from({ length: count }, (_, n) => draft(n)));
      await check(ledger);
    }
    expect(notices).toHaveLength(1);
  });

  it("was rolled back", async () => {
    const long = await ledgerOf("a");
    await long.record([draft(1), draft(2)]);
    await check(long);
    const kept = await seen.inHome("/home");
    const short = await ledgerOf("b");
    const failed = check(short);
    await expect(failed).rejects.toThrow(SeenMismatch);
    await expect(failed).rejects.toMatchObject({
      message: "The ledger reins/test is shorter than before: it was rolled back.",
      exitCode: 1,
      next: expect.stringMatching(
        /Seen before: reins\/test, 3 entries, root \S+=\nFound now: {3}reins\/test, 1 entries, root/,
      ),
    });
    expect(await seen.inHome("/home")).toEqual(kept);
  });

  it("was rewritten, at the same length or longer", async () => {
    const first = await ledgerOf("a");
    await first.record([draft(1), draft(2)]);
    await check(first);
    const other = await ledgerOf("b");
    await other.record([draft(1), draft(3)]);
    await expect(check(other)).rejects.toThrow("The history of the ledger reins/test was rewritten.");
    await other.record([draft(4), draft(5)]);
    await expect(check(other)).rejects.toThrow(SeenMismatch);
    await expect(check(other, "/another/home")).rejects.toThrow(SeenMismatch);
    await check(first);
  });

  it("is a copy that is behind", async () => {
    const ledger = await ledgerOf("a");
    await ledger.record([draft(1)]);
    await check(ledger);
    await check(await ledgerOf("b"), "/copy");
    expect(notices.at(-1)).toBe(
      "/copy has only 1 entries of the ledger reins/test, of which 2 were seen elsewhere.",
    );
    await check(ledger);
  });

  it("reports another ledger, and rejects the same under another key", async () => {
    await check(await ledgerOf("a"));
    await check(await ledgerOf("b", "other-keys", "reins/other"));
    expect(notices).toContain(
      "/home has another ledger than before: it was reins/test, now it is reins/other.",
    );
    await expect(check(await ledgerOf("c", "keys", "reins/other"))).rejects.toMatchObject({
      message: "The ledger reins/other is signed with another key than before.",
      exitCode: 1,
    });
  });

  it("has a damaged checkpoint kept of it", async () => {
    const ledger = await ledgerOf("a");
    await check(ledger);
    await writeFile(seen.fileOfHome("/home"), `${ledger.logKey}\nnonsense`);
    await expect(check(ledger)).rejects.toThrow("is damaged");
  });

  it("is read though nothing can be kept", async () => {
    await symlink(join(folder, "nowhere", "at", "all"), join(folder, "state"));
    await check(await ledgerOf("a"));
    expect(notices).toEqual([
      expect.stringContaining("First look"),
      expect.stringContaining("The checkpoint cannot be stored"),
    ]);
  });

  it("is not taken for new when what was kept cannot be read", async () => {
    await writeFile(join(folder, "state"), "a file where a folder should be");
    await expect(check(await ledgerOf("a"))).rejects.toMatchObject({
      message: expect.stringContaining("cannot be read"),
      exitCode: 1,
    });
  });
});
