import { chmod, mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toolContext, use } from "../../test/tool-context.ts";
import { type TestWorkspace, testWorkspace } from "../../test/workspace.ts";
import { deleteFile, editFile, writeFile as writeTool } from "./all-tools.ts";
import { listFiles } from "./list-files.ts";
import { readFile } from "./read-file.ts";
import type { Tool } from "./tool.ts";

const run = (tool: Tool, { cwd }: TestWorkspace, given: unknown) => use(tool, given, toolContext(cwd));
const code = (name: string) => expect.objectContaining({ code: name });

/** A workspace with a secret outside and links to it. */
async function besideASecret() {
  const workspace = await testWorkspace({ "src/a.ts": "export const a = 1;\n" });
  await writeFile(join(workspace.base, "secret.txt"), "the launch code");
  await symlink(join(workspace.base, "secret.txt"), join(workspace.cwd, "link.txt"));
  await symlink(workspace.base, join(workspace.cwd, "out"));
  return workspace;
}

describe("read_file", () => {
  test("returns the content of a file", async () => {
    const workspace = await testWorkspace({ "a.txt": "héllo\n" });
    expect(await run(readFile, workspace, { path: "a.txt" })).toEqual({ text: "héllo\n" });
    expect(await run(readFile, workspace, { path: join(workspace.cwd, "a.txt") })).toEqual({
      text: "héllo\n",
    });
  });

  test("cuts after 50 KB, at a whole character, with a note", async () => {
    const workspace = await testWorkspace({
      "big.txt": "é".repeat(30 * 1024),
      "fits.txt": "x".repeat(50 * 1024),
    });
    const { text } = await run(readFile, workspace, { path: "big.txt" });
    expect(text).toMatch(/^é+\n\[cut here: the file has 61440 bytes\]$/);
    expect(text.indexOf("\n")).toBe(25 * 1024);
    expect((await run(readFile, workspace, { path: "fits.txt" })).text).toHaveLength(50 * 1024);
  });

  test("shows lines from one on, says where they stand, and goes on where a first look was cut", async () => {
    const lines = Array.from({ length: 30_000 }, (_, at) => `line ${at + 1}\n`);
    const workspace = await testWorkspace({ "long.txt": lines.join(""), "short.txt": "a\nb\nc" });
    const shown = async (given: object) =>
      (await run(readFile, workspace, { path: "long.txt", ...given })).text;
    expect(await shown({ start_line: 20_000, lines: 2 })).toMatch(
      /^line 20000\nline 20001\n\[to be continued: these are lines 20000 to 20001, /,
    );
    expect(await shown({ start_line: 29_999 })).toBe("line 29999\nline 30000\n");
    const first = await shown({});
    const next = Number(/it goes on in line (\d+)\]$/.exec(first)?.[1]);
    expect(first).toContain(`line ${next - 1}\n`);
    expect(await shown({ start_line: next })).toMatch(new RegExp(`^line ${next}\n`));
    await expect(shown({ start_line: 30_001 })).rejects.toThrow("long.txt has 30000 lines");
    expect((await run(readFile, workspace, { path: "short.txt", start_line: 2 })).text).toBe("b\nc");
    expect((await run(readFile, workspace, { path: "short.txt", lines: 1 })).text).toMatch(/^a\n\[to be/);
    await expect(run(readFile, workspace, { path: "short.txt", start_line: 4 })).rejects.toThrow(
      "has 3 lines",
    );
  });

  test("gives images and PDF by what they hold, not by their name, up to a size", async () => {
    const workspace = await testWorkspace({ "notes.pdf": "plain" });
    const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(10)]);
    await writeFile(join(workspace.cwd, "picture.txt"), png);
    await writeFile(join(workspace.cwd, "paper"), "%PDF-1.7\n");
    await writeFile(join(workspace.cwd, "huge.png"), Buffer.concat([png, Buffer.alloc(3 * 1024 * 1024)]));
    expect(await run(readFile, workspace, { path: "picture.txt" })).toEqual({
      text: "[picture.txt: image/png, 18 bytes]",
      media: [{ mimeType: "image/png", data: png.toString("base64") }],
    });
    expect((await run(readFile, workspace, { path: "paper" })).media).toMatchObject([
      { mimeType: "application/pdf" },
    ]);
    expect(await run(readFile, workspace, { path: "notes.pdf" })).toEqual({ text: "plain" });
    await expect(run(readFile, workspace, { path: "huge.png" })).rejects.toThrow(
      "at most 3145728 of image/png",
    );
  });

  test("rejects a missing file, a folder and a binary file with a reason", async () => {
    const workspace = await testWorkspace({ "src/a.ts": "" });
    await writeFile(join(workspace.cwd, "image"), Buffer.from([0x89, 0x50, 0, 1]));
    await expect(run(readFile, workspace, { path: "none.txt" })).rejects.toThrow("there is no file none.txt");
    await expect(run(readFile, workspace, { path: "src" })).rejects.toThrow("src is not a file");
    await expect(run(readFile, workspace, { path: "image" })).rejects.toThrow("is not a text file");
  });

  test.each(["../secret.txt", "link.txt", "out/secret.txt", "/etc/passwd", "src/../../secret.txt"])(
    "rejects a path out of the workspace: %s",
    async (path) => {
      await expect(run(readFile, await besideASecret(), { path })).rejects.toThrow(code("outside"));
    },
  );

  test("accepts a path and no other arguments", async () => {
    const workspace = await testWorkspace();
    await expect(run(readFile, workspace, {})).rejects.toThrow(code("malformed"));
    await expect(run(readFile, workspace, { path: 7 })).rejects.toThrow("path");
    await expect(run(readFile, workspace, { path: "a", encoding: "x" })).rejects.toThrow("encoding");
    await expect(run(readFile, workspace, "a.txt")).rejects.toThrow(code("malformed"));
  });
});

describe("list_files", () => {
  test("lists a folder, subfolders with a slash", async () => {
    const workspace = await testWorkspace({ "b.txt": "", ".env": "", "src/deep/a.ts": "" });
    expect((await run(listFiles, workspace, {})).text).toBe(".env\nb.txt\nsrc/");
    expect((await run(listFiles, workspace, { path: "src" })).text).toBe("src/deep/");
  });

  test("lists by a pattern at any depth, without entering dependencies", async () => {
    const workspace = await testWorkspace({
      "a.ts": "",
      "a.md": "",
      "src/b.ts": "",
      "src/deep/c.ts": "",
      "node_modules/x/d.ts": "",
      ".git/e.ts": "",
    });
    expect((await run(listFiles, workspace, { pattern: "*.ts" })).text).toBe("a.ts");
    expect((await run(listFiles, workspace, { pattern: "**/*.ts" })).text).toBe(
      "a.ts\nsrc/b.ts\nsrc/deep/c.ts",
    );
    expect((await run(listFiles, workspace, { pattern: "src/*" })).text).toBe("src/b.ts\nsrc/deep/");
    expect((await run(listFiles, workspace, { path: "src", pattern: "*/*.ts" })).text).toBe("src/deep/c.ts");
    expect((await run(listFiles, workspace, { pattern: "*.rs" })).text).toContain("Nothing in . matches");
    await mkdir(join(workspace.cwd, "hollow"));
    expect((await run(listFiles, workspace, { path: "hollow" })).text).toBe("There is nothing in hollow.");
  });

  test("shows 200 entries and notes that there are more", async () => {
    const names = Array.from({ length: 230 }, (_, index) => [`f${index}`, ""]);
    const workspace = await testWorkspace(Object.fromEntries(names));
    const lines = (await run(listFiles, workspace, {})).text.split("\n");
    expect(lines).toHaveLength(201);
    expect(lines.at(-1)).toContain("only the first 200");
  });

  test("follows no links out of the workspace", async () => {
    const workspace = await besideASecret();
    expect((await run(listFiles, workspace, { pattern: "**/*" })).text).not.toContain("secret");
    for (const given of [
      { path: ".." },
      { path: "out" },
      { pattern: "../*" },
      { pattern: "{..,x}/*" },
      { pattern: "/*" },
    ])
      await expect(run(listFiles, workspace, given)).rejects.toThrow(code("outside"));
  });

  test("rejects a missing folder with a reason", async () => {
    const workspace = await testWorkspace({ "a.txt": "" });
    await expect(run(listFiles, workspace, { path: "a.txt" })).rejects.toThrow("is not a folder");
    await expect(run(listFiles, workspace, { path: "none" })).rejects.toThrow("there is no folder");
  });
});

describe("write_file", () => {
  test("creates a file with its folders, and replaces one with its mode", async () => {
    const workspace = await testWorkspace({ "run.sh": "old" });
    await chmod(join(workspace.cwd, "run.sh"), 0o755);
    await run(writeTool, workspace, { path: "new/deep/a.txt", content: "hello" });
    await run(writeTool, workspace, { path: "run.sh", content: "new" });
    expect(await workspace.text("new/deep/a.txt")).toBe("hello");
    expect(await workspace.text("run.sh")).toBe("new");
    expect((await stat(join(workspace.cwd, "run.sh"))).mode & 0o777).toBe(0o755);
  });

  test("previews the new content without reading the old", async () => {
    const workspace = await testWorkspace({ "a.txt": "private" });
    const call = writeTool.call({ path: "a.txt", content: "new" });
    const path = join(workspace.cwd, "a.txt");
    expect(await call.prepare(toolContext(workspace.cwd))).toEqual({
      locations: [path],
      content: [{ type: "diff", path, oldText: null, newText: "new" }],
    });
    expect(await workspace.text("a.txt")).toBe("private");
  });

  test("writes nothing outside, not even through dangling links", async () => {
    const workspace = await besideASecret();
    await symlink(join(workspace.base, "not-yet.txt"), join(workspace.cwd, "dangling.txt"));
    for (const path of ["../x.txt", "out/x.txt", "link.txt", "/etc/x"])
      await expect(run(writeTool, workspace, { path, content: "x" })).rejects.toThrow(code("outside"));
    await run(writeTool, workspace, { path: "dangling.txt", content: "x" });
    await expect(stat(join(workspace.base, "not-yet.txt"))).rejects.toThrow("ENOENT");
    expect(await workspace.text("dangling.txt")).toBe("x");
  });

  test("does not replace a folder, and leaves no temporary file", async () => {
    const workspace = await testWorkspace({ "src/a.ts": "" });
    await expect(run(writeTool, workspace, { path: "src", content: "x" })).rejects.toThrow("is a folder");
    expect((await run(listFiles, workspace, {})).text).toBe("src/");
  });
});

describe("edit_file", () => {
  const edit = (path: string, old_text: string, new_text: string, more = {}) => ({
    path,
    old_text,
    new_text,
    ...more,
  });

  test("replaces one occurrence, or all of them", async () => {
    const workspace = await testWorkspace({ "a.txt": "one two two $& three" });
    await run(editFile, workspace, edit("a.txt", "one", "$& 1"));
    expect(await workspace.text("a.txt")).toBe("$& 1 two two $& three");
    expect((await run(editFile, workspace, edit("a.txt", "two", "2", { replace_all: true }))).text).toContain(
      "2 places",
    );
    expect(await workspace.text("a.txt")).toBe("$& 1 2 2 $& three");
  });

  test("rejects a text that is missing or ambiguous", async () => {
    const workspace = await testWorkspace({ "a.txt": "two two" });
    await expect(run(editFile, workspace, edit("a.txt", "zebra", "x"))).rejects.toThrow("read it again");
    await expect(run(editFile, workspace, edit("a.txt", "two", "x"))).rejects.toThrow("2 times");
    await expect(run(editFile, workspace, edit("none.txt", "two", "x"))).rejects.toThrow("there is no file");
    expect(await workspace.text("a.txt")).toBe("two two");
  });

  test("rejects paths out of the workspace", async () => {
    const workspace = await besideASecret();
    await expect(run(editFile, workspace, edit("link.txt", "launch", "x"))).rejects.toThrow(code("outside"));
  });
});

describe("delete_file", () => {
  test("deletes a file, or a folder with its content", async () => {
    const workspace = await testWorkspace({ "a.txt": "", "src/deep/b.ts": "", "keep.txt": "" });
    await run(deleteFile, workspace, { path: "a.txt" });
    await run(deleteFile, workspace, { path: "src" });
    expect((await run(listFiles, workspace, {})).text).toBe("keep.txt");
    await expect(run(deleteFile, workspace, { path: "a.txt" })).rejects.toThrow("there is no a.txt");
  });

  test("deletes a link and not its target", async () => {
    const workspace = await testWorkspace({ "real.txt": "x" });
    await symlink(join(workspace.cwd, "real.txt"), join(workspace.cwd, "link.txt"));
    await run(deleteFile, workspace, { path: "link.txt" });
    expect((await run(listFiles, workspace, {})).text).toBe("real.txt");
  });

  test.each([".", "./", "..", "src/..", "../work", "../secret.txt", "out/secret.txt", "/"])(
    "deletes neither the workspace nor anything outside: %s",
    async (path) => {
      const workspace = await besideASecret();
      await mkdir(join(workspace.cwd, "more"));
      await expect(run(deleteFile, workspace, { path })).rejects.toThrow(
        code(/secret/.test(path) ? "outside" : "invalid"),
      );
      expect(await workspace.text("../secret.txt")).toBe("the launch code");
      expect(await workspace.text("src/a.ts")).toBeDefined();
    },
  );
});
