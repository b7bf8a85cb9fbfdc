import { chmod, mkdir, mkdtemp, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileStamps, LruCache } from "./cache.ts";
import { ManualClock } from "./manual-clock.ts";

it("evicts the least recently used, by number and by size", () => {
  const memory = new LruCache<string, number>({ entries: 2, size: 10 });
  memory.set("a", 1, 1);
  memory.set("b", 2, 1);
  memory.get("a");
  memory.set("c", 3, 1);
  expect([memory.get("a"), memory.get("b"), memory.get("c")]).toEqual([1, undefined, 3]);
  memory.set("d", 4, 10);
  expect([memory.get("a"), memory.get("c"), memory.get("d")]).toEqual([undefined, undefined, 4]);
  memory.set("e", 5, 11);
  expect(memory.get("e")).toBeUndefined();
});

describe("stamps of files", () => {
  /** A folder in which `file`, `folder` and `link` are noted, and three paths where nothing is. */
  async function noted(laterMs = 10_000) {
    const path = await mkdtemp(join(tmpdir(), "stamps-"));
    const at = (name: string) => join(path, name);
    await mkdir(at("folder"));
    await mkdir(at("other"));
    await writeFile(at("file"), "one");
    await symlink("folder", at("link"));
    await symlink("nowhere", at("dangling"));
    const clock = new ManualClock(new Date(Date.now() + laterMs));
    const stamps = new FileStamps(clock);
    for (const name of ["file", "folder", "link", "absent", "folder/far/below", "dangling/skills"])
      await stamps.note(at(name));
    return { at, clock, stamps };
  }

  it("are current as long as nothing changes", async () => {
    const { at, stamps, clock } = await noted();
    await writeFile(at("beside"), "");
    expect([await stamps.areCurrent(), stamps.size]).toEqual([true, 6]);
    clock.advance(30_001);
    expect(await stamps.areCurrent()).toBe(false);
  });

  type Change = (at: (name: string) => string) => Promise<unknown>;
  const changes: Readonly<Record<string, Change>> = {
    "a content of the same size, with its old time": async (at) => {
      const { atime, mtime } = await stat(at("file"));
      await writeFile(at("file"), "two");
      await utimes(at("file"), atime, mtime);
    },
    "a mode": (at) => chmod(at("file"), 0o755),
    "a file that is gone": (at) => rm(at("file")),
    "another file in its place": async (at) => {
      await writeFile(at("new"), "one");
      await rename(at("new"), at("file"));
    },
    "a new entry of a folder": (at) => writeFile(at("folder/new"), ""),
    "a link to elsewhere": async (at) => {
      await rm(at("link"));
      await symlink("other", at("link"));
    },
    "something where nothing was": (at) => mkdir(at("absent")),
    "something far below a folder": (at) => mkdir(at("folder/far/below"), { recursive: true }),
    "something behind a link that led nowhere": (at) => mkdir(at("nowhere/skills"), { recursive: true }),
    "something in a folder that was replaced by a copy": async (at) => {
      await mkdir(at("copy/far/below"), { recursive: true });
      await rename(at("folder"), at("old"));
      await rename(at("copy"), at("folder"));
    },
  };
  it.each(Object.entries(changes))("show %s", async (_, change) => {
    const { at, stamps } = await noted();
    await change(at);
    expect(await stamps.areCurrent()).toBe(false);
  });

  it("are current when only others came beside what is absent", async () => {
    const { at, stamps } = await noted();
    await mkdir(at("other/far/below"), { recursive: true });
    await writeFile(at("beside"), "");
    expect(await stamps.areCurrent()).toBe(true);
  });

  it("show what comes to a folder that itself came later, also to calls at once", async () => {
    const path = await mkdtemp(join(tmpdir(), "stamps-"));
    const clock = new ManualClock(new Date());
    const stamps = new FileStamps(clock);
    for (const name of ["a/b/c", "d", "e/f"]) await stamps.note(join(path, name));
    const areAll = async (current: boolean) =>
      expect(await Promise.all([1, 2, 3].map(() => stamps.areCurrent()))).toEqual([
        current,
        current,
        current,
      ]);
    await areAll(true);
    await mkdir(join(path, "a/b"), { recursive: true });
    await areAll(true);
    // What changed is long ago from here on, and the folders are relied upon.
    clock.advance(10_000);
    await areAll(true);
    await areAll(true);
    await mkdir(join(path, "a/b/c"));
    await areAll(false);
  });

  it("show what comes between the looks at a path and at the folder above it", async () => {
    const path = await mkdtemp(join(tmpdir(), "stamps-"));
    const stamps = new FileStamps(new ManualClock(new Date(Date.now() + 1_000)));
    await stamps.note(join(path, "absent"));
    await mkdir(join(path, "absent"));
    expect(await stamps.areCurrent()).toBe(false);
  });

  it("are looked at once for callers at the same time, and again for one that comes during the look", async () => {
    const { stamps } = await noted();
    const look = stamps.areCurrent();
    expect(stamps.areCurrent()).toBe(look);
    await new Promise(setImmediate);
    expect(stamps.areCurrent()).not.toBe(look);
    expect(await look).toBe(true);
  });

  it("do not count for files that changed just before, nor when the clock was set back", async () => {
    expect(await (await noted(0)).stamps.areCurrent()).toBe(false);
    const { stamps, clock } = await noted();
    clock.set(new Date(Date.now()));
    expect(await stamps.areCurrent()).toBe(false);
  });
});
