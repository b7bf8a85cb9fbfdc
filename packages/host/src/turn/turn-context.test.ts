import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readMandate } from "./turn-context.ts";

async function homeWith(files: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), "reins-mandate-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return { folder, home: join(folder, "home") };
}

describe("a mandate", () => {
  test("is read from the home, or from its folder mandates", async () => {
    const { home } = await homeWith({ "home/mandates/reed.md": "Read.", "home/other.md": "Other." });
    expect(await readMandate(home, "mandates/reed.md")).toEqual({ text: "Read." });
    expect(await readMandate(home, "reed.md")).toEqual({ text: "Read." });
    expect(await readMandate(home, "other.md")).toEqual({ text: "Other." });
    expect(await readMandate(home, join(home, "other.md"))).toEqual({ text: "Other." });
  });

  test.each([
    ["outside.md", "../outside.md"],
    ["outside.md", "mandates/../../outside.md"],
  ])("is not read from outside of the home: %s by %s", async (outside, name) => {
    const { home } = await homeWith({ [outside]: "secret", "home/mandates/x.md": "" });
    expect(await readMandate(home, name)).toEqual({ fault: "it is not a plain file inside of the home" });
  });

  test("is not read through a link that leads out, nor by a path of its own", async () => {
    const { folder, home } = await homeWith({ "outside.md": "secret", "home/mandates/x.md": "" });
    await symlink(join(folder, "outside.md"), join(home, "mandates/link.md"));
    await symlink(folder, join(home, "mandates/folder"));
    for (const name of ["link.md", "folder/outside.md", join(folder, "outside.md")])
      expect(await readMandate(home, name)).toEqual({ fault: "it is not a plain file inside of the home" });
  });

  test("is none of the home's other files", async () => {
    const { home } = await homeWith({ "home/keys/system.key": "secret", "home/mandates/x.md": "" });
    await symlink(join(home, "keys/system.key"), join(home, "mandates/key.md"));
    for (const name of ["keys/system.key", "key.md"])
      expect(await readMandate(home, name)).toEqual({ fault: "a mandate is a .md or .txt file" });
  });

  test("is a plain file, of bounded length, that is there", async () => {
    const { home } = await homeWith({ "home/large.md": "x".repeat(40_000), "home/folder.md/x": "" });
    execFileSync("mkfifo", [join(home, "pipe.md")]);
    expect((await readMandate(home, "large.md")).fault).toContain("at most 32768 characters");
    expect((await readMandate(home, "folder.md")).fault).toContain("not a plain file");
    expect((await readMandate(home, "pipe.md")).fault).toContain("not a plain file");
    expect((await readMandate(home, "missing.md")).fault).toContain("there is no such file");
    expect((await readMandate(home, "\0.md")).fault).toBeDefined();
  });
});
