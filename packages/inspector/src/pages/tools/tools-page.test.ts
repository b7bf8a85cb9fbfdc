import type { SessionTool } from "@reins/api";
import { describe, expect, test } from "vitest";
import { shortened, sourcesOf, toolsIn } from "./tools-page.tsx";

const tool = (name: string, state: SessionTool["state"], source?: string): SessionTool => ({
  ...{ name, description: "", state, tokens: 10 },
  ...(source !== undefined && { source }),
});

const TOOLS = [
  tool("a", "deferred", "git"),
  tool("b", "promoted", "git"),
  tool("c", "loaded"),
  tool("d", "deferred", "mail"),
];

describe("the tools of a session", () => {
  test("are counted by source, the agent's own first", () => {
    expect(sourcesOf(TOOLS)).toEqual([
      { source: "agent", tools: 1, promoted: 0, deferred: 0, tokens: 10 },
      { source: "git", tools: 2, promoted: 1, deferred: 1, tokens: 20 },
      { source: "mail", tools: 1, promoted: 0, deferred: 1, tokens: 10 },
    ]);
  });

  test("are filtered by state", () => {
    expect(toolsIn(TOOLS, "deferred").map(({ name }) => name)).toEqual(["a", "d"]);
    expect(toolsIn(TOOLS, "all")).toHaveLength(4);
  });

  test("are described in few words", () => {
    expect(shortened("Reads")).toBe("Reads");
    expect(shortened("x".repeat(300))).toHaveLength(202);
  });
});
