import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Roots } from "./roots.ts";

/** A workspace with a secret outside. */
async function place() {
  const base = await realpath(await mkdtemp(join(tmpdir(), "roots-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const cwd = join(base, "work");
  await mkdir(join(cwd, "src"), { recursive: true });
  await mkdir(join(base, "work-more"));
  await writeFile(join(base, "secret"), "s");
  await writeFile(join(cwd, "a.txt"), "a");
  return { base, cwd, roots: new Roots(cwd) };
}

const outside = expect.objectContaining({ code: "outside" });

describe("a path", () => {
  test("inside resolves, relative or absolute", async () => {
    const { cwd, roots } = await place();
    expect(await roots.resolve("a.txt")).toBe(join(cwd, "a.txt"));
    expect(await roots.resolve("src/../a.txt")).toBe(join(cwd, "a.txt"));
    expect(await roots.resolve(join(cwd, "src"))).toBe(join(cwd, "src"));
    expect(await roots.resolve(".")).toBe(cwd);
  });

  test("that does not exist resolves by the nearest existing folder", async () => {
    const { cwd, roots } = await place();
    expect(await roots.resolve("src/new/deep/file.ts")).toBe(join(cwd, "src/new/deep/file.ts"));
    expect(await roots.resolve("./new//x/")).toBe(join(cwd, "new/x"));
  });

  test.each(["../secret", "src/../../secret", "/etc/passwd", "../work-more/x", "../missing/x", "/", ".."])(
    "that escapes is rejected: %s",
    async (path) => {
      const { roots } = await place();
      await expect(roots.resolve(path)).rejects.toThrow(outside);
    },
  );

  test("is rejected when a link leads out", async () => {
    const { base, cwd, roots } = await place();
    await symlink(join(cwd, "src"), join(cwd, "inside"));
    await symlink(base, join(cwd, "out"));
    await symlink(join(base, "secret"), join(cwd, "file"));
    expect(await roots.resolve("inside/x.ts")).toBe(join(cwd, "src/x.ts"));
    for (const path of ["out/secret", "out/new/file", "file", "out"])
      await expect(roots.resolve(path)).rejects.toThrow(outside);
  });

  test("resolves `..` after links, as opening a file does", async () => {
    const { base, cwd, roots } = await place();
    await mkdir(join(base, "far/deep"), { recursive: true });
    await symlink(join(base, "far/deep"), join(cwd, "link"));
    await expect(roots.resolve("link/../a.txt")).rejects.toThrow(outside);
  });

  test("with `..` after a missing folder is rejected", async () => {
    const { roots } = await place();
    await expect(roots.resolve("missing/../../secret")).rejects.toThrow(
      expect.objectContaining({ code: "invalid" }),
    );
  });

  test("that is malformed is rejected with a reason", async () => {
    const { cwd, roots } = await place();
    await symlink(join(cwd, "loop"), join(cwd, "loop"));
    await expect(roots.resolve("a\0b")).rejects.toThrow(expect.objectContaining({ code: "invalid" }));
    await expect(roots.resolve("a.txt/b")).rejects.toThrow(expect.objectContaining({ code: "not_a_folder" }));
    await expect(roots.resolve("loop")).rejects.toThrow(expect.objectContaining({ code: "invalid" }));
  });

  test("may be in an additional folder", async () => {
    const { base, cwd } = await place();
    const roots = new Roots(cwd, [join(base, "work-more")]);
    expect(await roots.resolve(join(base, "work-more/x"))).toBe(join(base, "work-more/x"));
    await expect(roots.resolve("../secret")).rejects.toThrow(outside);
  });

  test("in a folder that replaced a root is outside", async () => {
    const { base, cwd, roots } = await place();
    await roots.find();
    await rename(cwd, `${cwd}-before`);
    await symlink(base, cwd);
    for (const path of ["secret", join(cwd, "secret"), "."])
      await expect(roots.resolve(path)).rejects.toThrow(outside);
  });

  test("is displayed relative to the working folder", async () => {
    const { base, cwd, roots } = await place();
    expect(await roots.shown(join(cwd, "src/x"))).toBe("src/x");
    expect(await roots.shown(cwd)).toBe(".");
    expect(await roots.shown(join(base, "work-more"))).toBe(join(base, "work-more"));
  });
});
