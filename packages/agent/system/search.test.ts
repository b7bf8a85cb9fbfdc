import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { search } from "../src/tools/search.ts";
import type { Tool } from "../src/tools/tool.ts";
import { toolContext, use } from "../test/tool-context.ts";
import { type TestWorkspace, testWorkspace } from "../test/workspace.ts";

const run = (tool: Tool, { cwd }: TestWorkspace, given: unknown) => use(tool, given, toolContext(cwd));
const code = (name: string) => expect.objectContaining({ code: name });

/** A workspace with a secret outside and links to it. */
async function besideASecret() {
  const workspace = await testWorkspace();
  await writeFile(join(workspace.base, "secret.txt"), "the launch code");
  await symlink(join(workspace.base, "secret.txt"), join(workspace.cwd, "link.txt"));
  await symlink(workspace.base, join(workspace.cwd, "out"));
  return workspace;
}

describe("search", () => {
  test("finds lines, with file and number", async () => {
    const workspace = await testWorkspace({ "a.txt": "one\ntwo port\n", "src/b.ts": "const port = 1;\n" });
    const { text } = await run(search, workspace, { query: "port" });
    expect(text.split("\n").toSorted()).toEqual(["a.txt:2:two port", "src/b.ts:1:const port = 1;"]);
    expect((await run(search, workspace, { query: "port", glob: "*.ts" })).text).toBe(
      "src/b.ts:1:const port = 1;",
    );
    expect((await run(search, workspace, { query: "port", path: "a.txt" })).text).toBe("a.txt:2:two port");
  });

  test("skips dependencies and names of .gitignore, unless the path leads there", async () => {
    const workspace = await testWorkspace({
      ".gitignore": "# made\n/dist/\n*.log\n!keep.log\nnested/deep\n",
      "node_modules/x/index.js": "port in a dependency\n",
      "dist/out.js": "port that was made\n",
      "debug.log": "port in a log\n",
      "src/a.ts": "port\n",
    });
    expect((await run(search, workspace, { query: "port" })).text).toBe("src/a.ts:1:port");
    expect((await run(search, workspace, { query: "port", path: "node_modules/x" })).text).toContain(
      "dependency",
    );
    expect((await run(search, workspace, { query: "port", path: "dist" })).text).toContain("was made");
  });

  test("reports that there are no matches", async () => {
    expect(await run(search, await testWorkspace({ a: "x" }), { query: "zebra" })).toEqual({
      text: "No matches for zebra.",
    });
  });

  test("shows 100 matches and notes that there are more", async () => {
    const workspace = await testWorkspace({
      "a.txt": "hit\n".repeat(500),
      "long.txt": `hit ${"x".repeat(5_000)}\n`,
    });
    const lines = (await run(search, workspace, { query: "hit" })).text.split("\n");
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toContain("only the first 100");
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(500);
  });

  test("notes that there may be more when a few long lines fill the output", async () => {
    const workspace = await testWorkspace({ "min.js": `hit ${"x".repeat(100_000)}\n`.repeat(5) });
    const lines = (await run(search, workspace, { query: "hit" })).text.split("\n");
    expect(lines.length).toBeLessThan(6);
    expect(lines.at(-1)).toContain("[cut here");
  });

  test("takes its query literally, options included", async () => {
    const workspace = await testWorkspace({ "a.txt": "-r --include=x\n$(touch pwned)\n" });
    expect((await run(search, workspace, { query: "-r" })).text).toContain("a.txt:1:");
    expect((await run(search, workspace, { query: "$(touch pwned)" })).text).toContain("a.txt:2:");
    expect(await workspace.text("pwned")).toBeUndefined();
    await expect(run(search, workspace, { query: "\\(" })).rejects.toThrow("grep");
  });

  test("rejects paths out of the workspace", async () => {
    const workspace = await besideASecret();
    expect((await run(search, workspace, { query: "launch" })).text).toContain("No matches");
    for (const path of ["..", "out", "link.txt"])
      await expect(run(search, workspace, { query: "launch", path })).rejects.toThrow(code("outside"));
  });

  test("hides matches in files that its session may not read, with a note", async () => {
    const workspace = await testWorkspace({ ".env": "PORT=1\n", "a.txt": "PORT\n" });
    const services = { mayRead: async (_: string, path: string) => path !== ".env" };
    const context = toolContext(workspace.cwd, { services });
    expect((await use(search, { query: "PORT" }, context)).text).toBe(
      "a.txt:1:PORT\n[1 more in files that may not be read]",
    );
  });
});
