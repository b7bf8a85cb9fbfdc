import { expect, test } from "vitest";
import { GATEWAY_METHODS } from "./dialects.ts";

const CASES: readonly (readonly [method: string, body: object, tools: readonly string[]])[] = [
  ["anthropic messages", { tools: [{ name: "Bash" }] }, ["Bash"]],
  [
    "anthropic messages",
    { mcp_servers: [{ type: "url", url: "https://mcp.example/a", name: "a" }] },
    ["mcp:https://mcp.example/a"],
  ],
  ["openai chat", { tools: [{ type: "function", function: { name: "run" } }] }, ["run"]],
  ["openai chat", { functions: [{ name: "old" }], web_search_options: {} }, ["old", "web_search"]],
  [
    "openai responses",
    { tools: [{ type: "web_search" }, { type: "function", name: "run" }] },
    ["web_search", "run"],
  ],
  [
    "openai responses",
    { tools: [{ type: "mcp", server_label: "a", server_url: "https://mcp.example/a", name: "harmless" }] },
    ["mcp:https://mcp.example/a"],
  ],
  ["openai responses", { tools: [{ type: "mcp", connector_id: "connector_mail" }] }, ["mcp:connector_mail"]],
  ["gemini generateContent", { tools: [{ googleSearch: {} }] }, ["googleSearch"]],
];

test.each(CASES)("%s with %j offers a model the tools %j", (name, body, tools) => {
  const method = GATEWAY_METHODS.find((one) => one.name === name);
  expect(method?.dialect.read(body, "model").tools).toEqual(tools);
});
