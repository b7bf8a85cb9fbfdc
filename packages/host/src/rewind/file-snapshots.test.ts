import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { FileSnapshots, type FileSnapshotsOptions } from "./file-snapshots.ts";

const PLACE = { tenant: "default", session: "s1" };
const turnOf = (number: number) => ({
  id: `t${number}`,
  at: new Date(number * 1_000).toISOString(),
  prompt: `turn ${number}`,
});

/** Snapshots in a home of their own, and a folder with files. */
async function snapshotsIn(options: Partial<FileSnapshotsOptions> = {}) {
  const base = await mkdtemp(join(tmpdir(), "snapshots-"));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const [home, work] = [join(base, "home"), join(base, "work")];
  await mkdir(home);
  await mkdir(work);
  const open = () => new FileSnapshots({ home, ...options });
  const first = open();
  return {
    work,
    folder: join(home, "snapshots/default/s1"),
    snapshots: first,
    /** As another process finds them. */
    open,
    write: (turn: number, name: string, content: string, by = first) =>
      by.change(PLACE, turnOf(turn), { path: join(work, name), content }, () =>
        writeFile(join(work, name), content),
      ),
    planned: async (turns: readonly number[], by = first) =>
      (await by.plan(PLACE, new Set(turns.map((turn) => turnOf(turn).id)))).map(({ path, state, reason }) =>
        [path.slice(work.length + 1), state, ...(reason === undefined ? [] : [reason])].join(" "),
      ),
  };
}

describe("file snapshots", () => {
  test("are on the disk before the change, and those of a process that ended are found by the next", async () => {
    const { work, snapshots, open, write, planned } = await snapshotsIn();
    const path = join(work, "a");
    await writeFile(path, "0");
    await write(1, "a", "1");
    let seen: unknown;
    await snapshots
      .change(PLACE, turnOf(2), { path, content: "2" }, async () => {
        const [one] = await open().plan(PLACE, new Set(["t2"]));
        seen = [
          one?.target,
          await open().content(PLACE, one?.target.kind === "file" ? (one.target.hash ?? "") : ""),
        ];
        throw new Error("the process ends here");
      })
      .catch(() => undefined);
    expect(seen).toMatchObject([{ kind: "file", size: 1 }, Buffer.from("1")]);
    // The change that was not made stands in the way of nothing.
    expect(await planned([1, 2], open())).toEqual(["a restore"]);
    await writeFile(path, "2");
    expect(await planned([1, 2], open())).toEqual(["a restore"]);
  });

  test("know what is there when the process ended between the record and the change", async () => {
    const { work, folder, open, write, planned } = await snapshotsIn();
    await writeFile(join(work, "a"), "0");
    await write(1, "a", "1");
    // What is recorded first is that it becomes "2"; neither that nor what follows has happened.
    const lines = (await readFile(join(folder, "journal.jsonl"), "utf8")).split("\n");
    await write(1, "a", "2");
    const after = (await readFile(join(folder, "journal.jsonl"), "utf8")).split("\n");
    expect(after.length).toBe(lines.length + 1);
    for (const content of ["1", "2"]) {
      await writeFile(join(work, "a"), content);
      expect(await planned([1], open())).toEqual(["a restore"]);
    }
    await writeFile(join(work, "a"), "3");
    expect(await planned([1], open())).toEqual(["a conflict it is not as Reins last left it"]);
  });

  test("are read up to a line that was cut off, and written after it", async () => {
    const { folder, open, write, planned } = await snapshotsIn();
    await write(1, "a", "1");
    await appendFile(join(folder, "journal.jsonl"), '\n{"kind":"change","turn":"t1","path":"/x","was":{"ki');
    const next = open();
    expect(await planned([1], next)).toEqual(["a restore"]);
    await write(2, "b", "1", next);
    expect(await planned([1, 2], open())).toEqual(["a restore", "b restore"]);
  });

  test("let nothing be changed where nothing can be recorded", async () => {
    const { work, folder, open, write } = await snapshotsIn();
    await write(1, "a", "1");
    await rm(folder, { recursive: true });
    await mkdir(join(folder, "journal.jsonl"), { recursive: true });
    for (const by of [undefined, open()])
      await expect(write(2, "b", "1", by)).rejects.toThrow("nothing was changed (EISDIR)");
    expect(await readdir(work)).toEqual(["a"]);
  });

  test("say what a full disk had no room for, and do not hold up the change", async () => {
    const full = async () => ({ free: 0, total: 1024 ** 4 });
    const { work, write, planned } = await snapshotsIn({ space: full });
    await writeFile(join(work, "a"), "0");
    await write(1, "a", "1");
    await write(1, "b", "1");
    expect(await readFile(join(work, "a"), "utf8")).toBe("1");
    expect(await planned([1])).toEqual([
      "a lost what was there was not kept: the disk had no room left",
      "b restore",
    ]);
  });

  test("forget the oldest turns of a session that has kept as much as it may", async () => {
    const { work, folder, snapshots, open, write, planned } = await snapshotsIn({
      limits: { sessionBytes: 3_000, fileBytes: 2_500 },
    });
    await writeFile(join(work, "a"), "0".repeat(1_000));
    for (let turn = 1; turn <= 6; turn += 1) await write(turn, "a", String(turn).repeat(1_000));
    for (const one of [snapshots, open()]) {
      const { turns, forgotten } = await one.turns(PLACE);
      expect([forgotten, turns.map(({ id }) => id)]).toEqual(["t3", ["t4", "t5", "t6"]]);
      expect(await planned([4, 5, 6], one)).toEqual(["a restore"]);
    }
    expect(await readdir(join(folder, "objects"))).toHaveLength(3);
    await writeFile(join(work, "b"), "b".repeat(2_400));
    await writeFile(join(work, "c"), "c".repeat(2_400));
    await write(7, "b", "7");
    await write(7, "c", "7");
    expect(await planned([7])).toEqual([
      "b restore",
      "c lost what was there was not kept: the session has kept as much as it may",
    ]);
  });

  test("let a rewind replace nothing of others that is not kept", async () => {
    const { work, snapshots, write, planned } = await snapshotsIn({ limits: { fileBytes: 100 } });
    const path = join(work, "a");
    await writeFile(path, "0");
    await write(1, "a", "1");
    await writeFile(path, "p".repeat(200));
    expect(await planned([1])).toEqual(["a conflict it is not as Reins last left it"]);
    const restores = await snapshots.plan(PLACE, new Set(["t1"]));
    const rewind = { id: "r1", at: new Date().toISOString(), before: "t1" };
    await expect(snapshots.begin(PLACE, rewind, restores)).rejects.toThrow(
      /nothing was changed .*too large to be kept/,
    );
    expect((await snapshots.turns(PLACE)).turns.map(({ id }) => id)).toEqual(["t1"]);
  });

  test("keep what a rewind replaces beyond what a session may keep, and not without room on the disk", async () => {
    let free = 1024 ** 4;
    const space = async () => ({ free, total: 1024 ** 4 });
    const { work, snapshots, write, planned } = await snapshotsIn({ space, limits: { sessionBytes: 100 } });
    const path = join(work, "a");
    await writeFile(path, "0".repeat(60));
    await write(1, "a", "1".repeat(60));
    const rewind = { id: "r1", at: new Date().toISOString(), before: "t1" };
    const restores = await snapshots.plan(PLACE, new Set(["t1"]));
    free = 0;
    await expect(snapshots.begin(PLACE, rewind, restores)).rejects.toThrow("nothing was changed");
    free = 1024 ** 4;
    await snapshots.begin(PLACE, rewind, restores);
    await writeFile(path, "0".repeat(60));
    await snapshots.end(PLACE, "r1", []);
    const [undone] = await snapshots.plan(PLACE, new Set(["r1"]));
    expect(undone?.state).toBe("restore");
    const hash = undone?.target.kind === "file" ? (undone.target.hash ?? "") : "";
    expect(String(await snapshots.content(PLACE, hash))).toBe("1".repeat(60));
    await write(2, "a", "2");
    expect(await planned([2])).toEqual(["a restore"]);
  });

  test("of sessions that are not to be kept, or are old, are removed", async () => {
    const { folder, snapshots, open, write } = await snapshotsIn();
    await write(1, "a", "1");
    await snapshots.prune(async () => true, new Date(0));
    expect((await stat(folder)).isDirectory()).toBe(true);
    await open().prune(async ({ tenant, session }) => `${tenant}/${session}` !== "default/s1");
    await expect(stat(folder)).rejects.toThrow("ENOENT");
    await write(2, "a", "2", open());
    await snapshots.prune(async () => true, new Date(Date.now() + 60_000));
    await expect(stat(folder)).rejects.toThrow("ENOENT");
  });
});
