import { describe, expect, it, onTestFinished } from "vitest";
import { Editor } from "./support/editor.ts";
import { OperatedHome } from "./support/operated-home.ts";

describe("reins tools", () => {
  it("finds the tools of the session that was used last, and says what to do where there is none", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    onTestFinished(() => home.stop(reins));
    expect(await home.run("tools", "search", "read", "a", "file")).toMatchObject({
      code: expect.not.stringMatching(/^0$/),
      stderr: expect.stringContaining("No session of the native agent is open"),
    });
    const editor = new Editor(home.start("acp", "--agent", "native"));
    await editor.ask("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const begun = await editor.ask("session/new", { cwd: home.workspace, mcpServers: [] });
    expect(begun).toHaveProperty("result");
    const found = await home.json("tools", "search", "list the entries of a folder");
    expect(found).toMatchObject({ strategy: "bm25", counts: { deferred: 0 } });
    expect(found.tools[0]).toMatchObject({
      name: "list_files",
      state: "loaded",
      why: expect.stringContaining("(name"),
    });
    const printed = await home.done("tools", "search", "--strategy", "regex", "^run_");
    expect(printed).toMatch(/run_command +- +loaded +\d+ +matches in name/);
    expect(printed).toMatch(/\d+ tools: \d+ loaded, 0 promoted, 0 deferred/);
    expect(await home.done("tools", "list")).toContain("read_file");
    expect(await home.done("tools", "search", "--strategy", "regex", "(")).toContain(
      "the pattern is invalid",
    );
  });
});
