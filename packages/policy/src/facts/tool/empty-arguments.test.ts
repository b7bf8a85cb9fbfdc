import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Machine } from "../../../test/machine.ts";
import type { Action } from "../../action.ts";
import { isHarmless } from "../../conditions/conditions.ts";
import { gatherFacts } from "../gather.ts";
import { loadToolTables } from "./tool-call.ts";

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.lay();
});
afterAll(() => machine[Symbol.asyncDispose]());

function factsOf(agent: string, tool_name: string, given: unknown): Promise<Action> {
  const payload = { tool_name, ...(given !== undefined && { arguments: given }) };
  const event = { event_type: "pre_action" as const, session_id: "s", agent_id: agent, depth: 0, payload };
  return gatherFacts(event, machine.context(agent));
}

const TOUCHING = new Set(["read", "tree", "glob", "change", "overwrite", "delete", "patch"]);
const tools = [...loadToolTables()].flatMap(([agent, { tools: known }]) =>
  Object.entries(known).map(([name, tool]) => ({ agent, name, tool })),
);

describe("a call without arguments", () => {
  it.each(
    tools.filter(
      ({ tool }) =>
        tool.without === undefined && Object.values(tool.arguments).some((role) => TOUCHING.has(role)),
    ),
  )("of $name of $agent may touch anything", async ({ agent, name }) => {
    for (const given of [{}, undefined, { unrelated: 1 }]) {
      const action = await factsOf(agent, name, given);
      const { opaque, effects } = action;
      expect([opaque, isHarmless(action)]).toEqual([true, false]);
      if (
        given?.unrelated === undefined ||
        tools.find((one) => one.name === name && one.agent === agent)?.tool.required
      )
        expect(effects).toContainEqual(expect.objectContaining({ place: "unknown", deep: true }));
    }
  });
});

describe("OpenCode's tools that look around", () => {
  it.each([
    ["read", { filePath: "README.md" }],
    ["read", { filePath: "src/index.ts", offset: 10, limit: 20 }],
    ["grep", { pattern: "TODO" }],
    ["grep", { pattern: "TODO", path: "src", include: "*.ts" }],
    ["glob", { pattern: "**/*.ts" }],
    ["glob", { pattern: "*.md", path: "docs" }],
    ["list", { path: "src" }],
    ["todowrite", { todos: [{ content: "x", status: "pending" }] }],
    ["todoread", {}],
  ])("%s is harmless", async (name, given) => {
    expect(isHarmless(await factsOf("opencode", name, given))).toBe(true);
  });
});

describe("a search limited to named files", () => {
  it.each([
    ["claude-code", "Grep", { pattern: "x", glob: ".env", output_mode: "content" }],
    ["claude-code", "Grep", { pattern: "x", glob: "**/.env" }],
    ["claude-code", "Grep", { pattern: "x", glob: "{.env,README.md}" }],
    ["claude-code", "Grep", { pattern: "x", path: "many", glob: ".e*" }],
    ["claude-code", "Grep", { pattern: "x", path: "src", glob: "id_rsa" }],
    ["opencode", "grep", { pattern: "x", include: ".env" }],
    ["opencode", "grep", { pattern: "x", path: "many", include: "*.env" }],
    ["gemini", "search_file_content", { pattern: "x", include: ".env" }],
    ["gemini", "grep_search", { pattern: "x", include_pattern: ".env*" }],
    ["qwen", "grep_search", { pattern: "x", glob: ".env" }],
    ["copilot", "grep", { pattern: "x", glob: "*.env" }],
    ["codex", "grep_files", { pattern: "x", include: ".env" }],
    ["native", "search", { query: "x", glob: ".env" }],
  ])("reads credentials where they are: %s %s %o", async (agent, name, given) => {
    const { effects } = await factsOf(agent, name, given);
    expect(effects).toContainEqual(expect.objectContaining({ kind: "read", place: "credentials" }));
  });

  it.each([{ glob: "*.ts" }, { glob: "*.{ts,tsx}" }, { glob: "!.env" }, { glob: "src/**" }])(
    "is harmless otherwise: %o",
    async (given) => {
      expect(isHarmless(await factsOf("claude-code", "Grep", { pattern: "x", path: "src", ...given }))).toBe(
        true,
      );
    },
  );
});
