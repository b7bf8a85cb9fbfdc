import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readDecided, readText, realPlace, showsKernel, writeText } from "./text-file.ts";

let base: string;
let root: string;
let outside: string;

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "text-file-")));
});
afterAll(() => rm(base, { recursive: true, force: true }));
beforeEach(async () => {
  [root, outside] = [join(base, "root"), join(base, "outside")];
  for (const folder of [root, outside]) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
  }
  await writeFile(join(root, "a.txt"), "one\ntwo\nthree\n");
  await writeFile(join(outside, "secret.txt"), "secret");
});

const OUTSIDE = { name: "FileError", code: "outside" };

describe("a text file that an agent reads", () => {
  test.each([
    [{}, "one\ntwo\nthree\n"],
    [{ line: 2 }, "two\nthree\n"],
    [{ limit: 1 }, "one"],
    [{ line: 2, limit: 1 }, "two"],
    [{ line: 0, limit: 2 }, "one\ntwo"],
    [{ line: -7 }, "one\ntwo\nthree\n"],
    [{ line: 2.9, limit: 1.9 }, "two"],
    [{ limit: -1 }, ""],
    [{ line: 99 }, ""],
  ])("has the lines of %o", async (range, content) => {
    expect(await readText(join(root, "a.txt"), range, [root])).toEqual({ content });
  });

  test("is refused outside of the roots, by its path, by a link and by the name of a root's neighbour", async () => {
    await symlink(join(outside, "secret.txt"), join(root, "link.txt"));
    await symlink(outside, join(root, "folder"));
    await mkdir(`${root}-beside`, { recursive: true });
    await writeFile(join(`${root}-beside`, "b.txt"), "beside");
    for (const path of [
      join(outside, "secret.txt"),
      join(root, "link.txt"),
      join(root, "folder", "secret.txt"),
      `${root}/../outside/secret.txt`,
      join(`${root}-beside`, "b.txt"),
    ])
      await expect(readText(path, {}, [root]), path).rejects.toMatchObject(OUTSIDE);
  });

  test("is refused where it is no file, or shows the state of a process", async () => {
    await expect(readText(root, {}, [base])).rejects.toThrow("is not a file");
    if (process.platform !== "linux") return;
    await expect(readText("/proc/self/environ", {}, ["/proc", "/"])).rejects.toMatchObject(OUTSIDE);
    expect(await showsKernel("/proc/self")).toBe(true);
    expect(await showsKernel(root)).toBe(false);
  });
});

describe("a file that was decided about", () => {
  test("is read up to a size, and reported with its own", async () => {
    expect(await readDecided(join(root, "a.txt"), 3, [])).toEqual({ content: "one", size: 14 });
    expect(await readDecided(join(root, "a.txt"), 100, [])).toMatchObject({ size: 14 });
  });

  test("is not read where it has become a link, or lies in a folder that is kept", async () => {
    await symlink(join(outside, "secret.txt"), join(root, "link.txt"));
    await expect(readDecided(join(root, "link.txt"), 10, [])).rejects.toThrow();
    await expect(readDecided(join(root, "a.txt"), 10, [root])).rejects.toThrow("belongs to Reins itself");
    const linked = join(base, "kept-link");
    await rm(linked, { force: true });
    await symlink(root, linked);
    await expect(readDecided(join(root, "a.txt"), 10, [linked])).rejects.toMatchObject(OUTSIDE);
  });

  test("is not read where a folder on its way has become a link", async () => {
    if (process.platform !== "linux") return;
    await symlink(outside, join(root, "folder"));
    await expect(readDecided(join(root, "folder", "secret.txt"), 10, [])).rejects.toMatchObject(OUTSIDE);
  });
});

describe("a text file that an agent writes", () => {
  test("has exactly the content, also where there was a longer one", async () => {
    expect(await writeText(join(root, "a.txt"), "ü\r\n", [root])).toEqual({});
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("ü\r\n");
    await writeText(join(root, "new.txt"), "", [root]);
    expect(await readFile(join(root, "new.txt"), "utf8")).toBe("");
  });

  test("is replaced whole, with its permissions: who reads it meanwhile has the content of before", async () => {
    const path = join(root, "a.txt");
    await chmod(path, 0o640);
    const reading = await open(path);
    try {
      await writeText(path, "new", [root]);
      expect(await reading.readFile("utf8")).toBe("one\ntwo\nthree\n");
    } finally {
      await reading.close();
    }
    expect([await readFile(path, "utf8"), (await stat(path)).mode & 0o777]).toEqual(["new", 0o640]);
    expect(await readdir(root)).toEqual(["a.txt"]);
    await mkdir(join(root, "folder"));
    await expect(writeText(join(root, "folder"), "new", [root])).rejects.toThrow("is not a file");
  });

  test("is refused outside of the roots, and nothing is written or created there", async () => {
    await symlink(join(outside, "secret.txt"), join(root, "link.txt"));
    await symlink(join(outside, "made.txt"), join(root, "dangling.txt"));
    await symlink(outside, join(root, "folder"));
    for (const path of [
      join(outside, "secret.txt"),
      join(root, "link.txt"),
      join(root, "folder", "made.txt"),
      join(root, "dangling.txt"),
    ])
      await expect(writeText(path, "changed", [root]), path).rejects.toThrow();
    expect(await readFile(join(outside, "secret.txt"), "utf8")).toBe("secret");
    await expect(readFile(join(outside, "made.txt"))).rejects.toThrow("ENOENT");
  });

  test("creates no folder", async () => {
    await expect(writeText(join(root, "missing", "a.txt"), "text", [root])).rejects.toThrow("ENOENT");
  });
});

describe("the place of a path", () => {
  test("follows links, also where they lead to nothing", async () => {
    await symlink(outside, join(root, "folder"));
    await symlink("../outside/none", join(root, "dangling"));
    expect(await realPlace(join(root, "folder", "x"))).toBe(join(outside, "x"));
    expect(await realPlace(join(root, "dangling", "y"))).toBe(join(outside, "none", "y"));
    expect(await realPlace(join(root, "missing", "..", "a.txt"))).toBe(join(root, "a.txt"));
  });

  test("is the same whether something is there or not", async () => {
    await symlink(outside, join(root, "folder"));
    const [there, missing] = [join(root, "folder", "secret.txt"), join(root, "folder", "none.txt")];
    expect(await realPlace(there)).toBe(await realpath(there));
    expect(await realPlace(missing)).toBe(join(outside, "none.txt"));
  });

  test("ends for links that lead in a circle", async () => {
    await symlink("b", join(root, "a"));
    await symlink("a", join(root, "b"));
    expect(await realPlace(join(root, "a", "x"))).toMatch(/\/(?:a|b)\/x$/);
  });
});
