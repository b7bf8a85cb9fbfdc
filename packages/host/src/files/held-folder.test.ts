import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorCode } from "@reins/kit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HeldFolder } from "./held-folder.ts";

const PROC = "/proc/self/fd";

let top = "";
beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), "reins-held-")));
});
afterEach(() => rm(top, { recursive: true, force: true }));

const at = (...names: readonly string[]) => join(top, ...names);

/** Opens a folder of the test, made where it is missing, and closes it after use. */
async function using<Result>(name: string, use: (folder: HeldFolder) => Promise<Result>): Promise<Result> {
  const folder = await HeldFolder.open(at(name), { make: true });
  try {
    return await use(folder);
  } finally {
    await folder.close();
  }
}

/** The code of the error of an operation. */
async function codeOf(running: Promise<unknown>): Promise<string | undefined> {
  return running.then(
    () => "done",
    (error: unknown) => errorCode(error),
  );
}

/** The descriptors of this process that lie in the folder of the test. */
function held(): readonly string[] {
  if (!existsSync(PROC)) return [];
  const paths = readdirSync(PROC).flatMap((descriptor) => {
    try {
      return [readlinkSync(join(PROC, descriptor))];
    } catch {
      return [];
    }
  });
  return paths.filter((path) => path.startsWith(top));
}

describe("a folder", () => {
  test("is opened by the names of its path, and missing ones are made only where that is wanted", async () => {
    expect(await codeOf(HeldFolder.open(at("a/b")))).toBe("ENOENT");
    await expect(lstat(at("a"))).rejects.toThrow("ENOENT");
    await using("a/b", async ({ path }) => expect(path).toBe(at("a/b")));
    expect((await lstat(at("a/b"))).isDirectory()).toBe(true);
  });

  test("is made once by many that want it at the same time", async () => {
    const wanted = Array.from({ length: 20 }, () => HeldFolder.open(at("m/n/o"), { make: true }));
    for (const folder of await Promise.all(wanted)) await folder.close();
    expect(held()).toEqual([]);
  });

  test("is not reached through a link, wherever it stands in the path and wherever it leads", async () => {
    await mkdir(at("real/inner"), { recursive: true });
    await symlink(at("real"), at("link"));
    await symlink(at("nowhere"), at("dangling"));
    for (const path of ["link", "link/inner", "dangling", "dangling/x", "link/made"])
      for (const make of [true, false])
        expect(await codeOf(HeldFolder.open(at(path), { make }))).toMatch(/^(ENOTDIR|ELOOP)$/);
    await expect(lstat(at("nowhere"))).rejects.toThrow("ENOENT");
    expect(await readdir(at("real"))).toEqual(["inner"]);
    expect(held()).toEqual([]);
  });

  test("is not reached through a file", async () => {
    await writeFile(at("file"), "x");
    expect(await codeOf(HeldFolder.open(at("file/x"), { make: true }))).toBe("ENOTDIR");
  });

  test("of the system is refused, and the top of the file system has no parent", async () => {
    if (existsSync(PROC)) expect(await codeOf(HeldFolder.open("/proc"))).toBe("forbidden");
    expect(() => HeldFolder.parent("/")).toThrow("the top of the file system is no entry");
    const parent = await HeldFolder.parent(at("made/file"), { make: true });
    expect(parent.path).toBe(at("made"));
    await parent.close();
  });

  test("that was moved is used where it is, and nothing is placed in it", async () => {
    await mkdir(at("elsewhere"));
    await using("a/b", async (folder) => {
      const { name, file } = await folder.create();
      await file.close();
      await rename(at("a"), at("moved"));
      await symlink(at("elsewhere"), at("a"));
      await mkdir(at("elsewhere/b"));
      expect(await codeOf(folder.expectInPlace())).toBe("conflict");
      expect(await codeOf(folder.place(folder, name, "taken", { replaces: true }))).toBe("conflict");
      await (await folder.create()).file.close();
      expect(await readdir(at("elsewhere/b"))).toEqual([]);
      expect(await readdir(at("moved/b"))).toHaveLength(2);
    });
  });

  test("that was removed says so", async () => {
    await using("gone", async (folder) => {
      await rmdir(at("gone"));
      await expect(folder.expectInPlace()).rejects.toThrow("was moved or removed meanwhile");
      expect(await codeOf(folder.create())).toBe("ENOENT");
    });
  });

  test("opens those in it by names of which none is a link, and stays open when that fails", async () => {
    await mkdir(at("outside"));
    await using("a", async (folder) => {
      await symlink(at("outside"), at("a/link"));
      expect(await codeOf(folder.folder(["link"]))).toMatch(/^(ENOTDIR|ELOOP)$/);
      expect(await codeOf(folder.folder(["x", "y"]))).toBe("ENOENT");
      const inner = await folder.folder(["x", "link", "y"], { make: true });
      expect(inner.path).toBe(at("a/x/link/y"));
      await inner.close();
      expect(await codeOf(folder.folder(["link", "y"], { make: true }))).toMatch(/^(ENOTDIR|ELOOP)$/);
      expect(await folder.folder([])).toBe(folder);
      expect(await readdir(at("outside"))).toEqual([]);
    });
  });

  test("keeps no descriptor once it is closed, whatever failed before", async () => {
    await symlink(at("nowhere"), at("link"));
    await using("a", async (folder) => {
      const inner = await folder.folder(["x", "y", "z"], { make: true });
      await inner.close();
      await codeOf(folder.folder(["x", "y", "none"]));
      await codeOf(folder.read("none"));
      await codeOf(folder.read("x"));
      await codeOf(HeldFolder.open(at("link")));
    });
    expect(held()).toEqual([]);
  });
});

describe("an entry", () => {
  test("is read where it is a plain file, and nothing else is opened", async () => {
    await using("a", async (folder) => {
      await writeFile(at("a/file"), "content");
      await writeFile(at("outside"), "secret");
      await mkdir(at("a/folder"));
      await symlink(at("outside"), at("a/link"));
      execFileSync("mkfifo", [at("a/pipe")]);
      const { file, stats } = await folder.read("file");
      expect([await file.readFile("utf8"), stats.size]).toEqual(["content", 7]);
      await file.close();
      await expect(folder.read("folder")).rejects.toThrow("is a folder");
      await expect(folder.read("link")).rejects.toThrow("is no plain file");
      await expect(folder.read("pipe")).rejects.toThrow("is no plain file");
      expect(await codeOf(folder.read("../outside"))).toBe("ENOENT");
    });
  });

  test("is looked at itself where it is a link, and is nothing where it is missing", async () => {
    await using("a", async (folder) => {
      await symlink("/", at("a/link"));
      expect((await folder.look("link"))?.isSymbolicLink()).toBe(true);
      expect(await folder.look("none")).toBeUndefined();
      expect(await codeOf(folder.look("n".repeat(300)))).toBe("ENAMETOOLONG");
    });
  });

  test("is listed with what it is itself", async () => {
    await using("a", async (folder) => {
      await writeFile(at("a/file"), "1");
      await mkdir(at("a/folder"));
      await symlink(at("a/folder"), at("a/link"));
      const found = new Map<string, boolean>();
      for await (const { name, stats } of folder.entries()) found.set(name, stats.isDirectory());
      expect(Object.fromEntries(found)).toEqual({ file: false, folder: true, link: false });
    });
  });

  test("is written under a name of its own, and takes the place of a file at once", async () => {
    await using("a", async (folder) => {
      await writeFile(at("a/file"), "old");
      const { name, file } = await folder.create();
      expect(name).toMatch(/^\.[0-9a-f]{18}\.reins-partial$/);
      await file.writeFile("new");
      await file.close();
      expect(await codeOf(folder.place(folder, name, "file", { replaces: false }))).toBe("EEXIST");
      expect(await readFile(at("a/file"), "utf8")).toBe("old");
      await folder.place(folder, name, "file", { replaces: true });
      await folder.sync();
      expect([await readdir(at("a")), await readFile(at("a/file"), "utf8")]).toEqual([["file"], "new"]);
    });
  });

  test("is moved to a name that is free, of files and of folders, and to no other", async () => {
    await using("a", (from) =>
      using("b", async (to) => {
        await writeFile(at("a/file"), "1");
        await mkdir(at("a/folder"));
        await mkdir(at("b/taken"));
        await to.place(from, "file", "file", { replaces: false });
        expect(await codeOf(to.place(from, "folder", "taken", { replaces: false }))).toBe("conflict");
        await to.place(from, "folder", "free", { replaces: false });
        expect([await readdir(at("a")), (await readdir(at("b"))).toSorted()]).toEqual([
          [],
          ["file", "free", "taken"],
        ]);
        expect(await codeOf(to.place(to, "file", "taken", { replaces: true }))).toBe("EISDIR");
      }),
    );
  });

  test("is removed without what it leads to", async () => {
    await mkdir(at("outside"));
    await writeFile(at("outside/kept"), "1");
    await using("a", async (folder) => {
      await mkdir(at("a/tree/inner"), { recursive: true });
      await writeFile(at("a/tree/inner/file"), "1");
      await symlink(at("outside"), at("a/tree/link"));
      await symlink(at("outside"), at("a/link"));
      execFileSync("mkfifo", [at("a/tree/pipe")]);
      await folder.remove("link");
      expect(await codeOf(folder.remove("tree"))).toBe("ENOTEMPTY");
      await folder.remove("tree", { recursive: true });
      expect(await codeOf(folder.remove("tree"))).toBe("ENOENT");
      expect([await readdir(at("a")), await readdir(at("outside"))]).toEqual([[], ["kept"]]);
    });
  });

  test("is removed however deep it is, a few levels at a time, and nothing is kept open", async () => {
    await using("a", async (folder) => {
      const deep = (levels: number) => Array.from({ length: levels }, () => "d".repeat(20));
      await mkdir(at("elsewhere"));
      await writeFile(at("elsewhere", "kept"), "kept");
      // Deeper than a path may be long.
      for (let part = 0; part < 2; part += 1) {
        await mkdir(at("a", "new", ...deep(180)), { recursive: true });
        await symlink(at("elsewhere"), at("a", "new", ...deep(180), "link"));
        if (part > 0) await rename(at("a", "d"), at("a", "new", ...deep(181)));
        await rename(at("a", "new"), at("a", "d"));
      }
      let most = 0;
      const looking = setInterval(() => {
        most = Math.max(most, held().length);
      }, 5);
      await folder.remove("d", { recursive: true }).finally(() => clearInterval(looking));
      expect(await readdir(at("a"))).toEqual([]);
      expect(await readdir(at("elsewhere"))).toEqual(["kept"]);
      expect(most).toBeLessThan(100);
      expect(held()).toHaveLength(existsSync(PROC) ? 1 : 0);
    });
  });

  test.skipIf(process.platform !== "linux")(
    "whose name is not UTF-8 is listed as far as it is, and removed with its folder",
    async () => {
      const odd = (...names: readonly string[]) => Buffer.from(at("odd", ...names), "latin1");
      await mkdir(odd("d\xe9", "deep"), { recursive: true });
      await writeFile(odd("d\xe9", "f\xff"), "x");
      await symlink(at("elsewhere"), odd("l\xff"));
      await using("odd", async (folder) => {
        const names: string[] = [];
        for await (const { name } of folder.entries()) names.push(name);
        expect(names.toSorted()).toEqual(["d\ufffd", "l\ufffd"]);
      });
      await using("", (folder) => folder.remove("odd", { recursive: true }));
      expect(await readdir(top)).toEqual([]);
    },
  );

  test("that others remove meanwhile is gone for one of them, and the folder stays usable", async () => {
    await using("a", async (folder) => {
      for (let count = 0; count < 20; count += 1) await writeFile(at("a", String(count)), "1");
      const names = await readdir(at("a"));
      const outcomes = await Promise.all([...names, ...names].map((name) => codeOf(folder.remove(name))));
      expect(outcomes.filter((outcome) => outcome === "done")).toHaveLength(20);
      expect(outcomes.filter((outcome) => outcome === "ENOENT")).toHaveLength(20);
      await folder.discard("0");
      expect(await readdir(at("a"))).toEqual([]);
    });
  });
});
