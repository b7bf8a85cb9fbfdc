import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Catalogue } from "@reins/agents";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { testAgents } from "../../agents/test/test-agents.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { closeTerminals, ScreenTerminal } from "./support/screen-terminal.ts";

afterEach(closeTerminals);

const ENTER = "\r";
const RIGHT = "\u001b[C";

test.skipIf(!registryAnswers)(
  `OpenCode's own terminal attaches: prompts, calls, and a permission that is rejected in it${NEEDS_REGISTRY}`,
  { timeout: 300_000 },
  async () => {
    const { folder } = await testAgents().install("opencode");
    const { start } = Catalogue.load().entry("opencode");
    const program = join(folder, Object(start?.file)[`${process.platform}-${process.arch}`]);
    const own = await mkdtemp(join(tmpdir(), "opencode-attach-"));
    onTestFinished(() => rm(own, { recursive: true, force: true }));
    const home = new OperatedHome();
    const up = await home.up();
    const url = new URL("/opencode", up.addressOf("http")).href;
    const terminal = new ScreenTerminal(["attach", url, "--dir", home.workspace], {
      command: [program],
      cwd: own,
      environment: { HOME: own, OPENCODE_SERVER_PASSWORD: await home.startToken() },
    });
    const prompt = async (words: string) => {
      terminal.type(words);
      await terminal.shows(words);
      terminal.type(ENTER);
    };
    const file = join(home.workspace, "hello.txt");
    await terminal.shows("Ask anything");
    await prompt("write a file hello.txt that says hello");
    await expect.poll(() => existsSync(file)).toBe(true);
    await terminal.shows("This was the demo model");
    await prompt("delete everything in this folder");
    await terminal.shows("Permission required");
    terminal.keep("opencode-attach");
    for (const key of [RIGHT, RIGHT, ENTER]) terminal.type(key);
    await terminal.shows("I was not allowed to do that");
    expect(terminal.visible).not.toContain("Permission required");
    expect(existsSync(file)).toBe(true);
    const { approvals } = await home.fetched("/v1/approvals?state=denied");
    expect(approvals).toHaveLength(1);
    terminal.kill();
    await home.stop(up);
  },
);
