import { describe, expect, it } from "vitest";
import { ToolSearch, toolSearchSettings } from "./native.ts";

describe("native.tool_search", () => {
  it("maps every setting, and embedding to semantic", () => {
    const given = ToolSearch.parse({
      ...{ strategy: "embedding", mode: "client", fallback: "bm25", threshold: 0, budget_tokens: 500 },
      ...{ defer: ["git/*"], always_loaded: ["mcp__mail__send"] },
      embedding: { url: "http://127.0.0.1:1/v1", model: "small", key_variable: "EMBEDDING_KEY" },
    });
    expect(toolSearchSettings(given, { EMBEDDING_KEY: "k" })).toEqual({
      ...{ strategy: "semantic", mode: "client", fallback: "bm25", threshold: 0, budgetTokens: 500 },
      ...{ defer: ["git/*"], alwaysLoaded: ["mcp__mail__send"] },
      embed: expect.any(Function),
    });
    expect(toolSearchSettings(ToolSearch.parse({}))).toEqual({});
  });

  it.each([
    [{ strategy: "magic" }],
    [{ fallback: "host" }],
    [{ budget_tokens: -1 }],
    [{ embedding: { url: "file:///x", model: "m" } }],
    [{ unknown: 1 }],
  ])("rejects %j", (given) => {
    expect(ToolSearch.safeParse(given).success).toBe(false);
  });
});
