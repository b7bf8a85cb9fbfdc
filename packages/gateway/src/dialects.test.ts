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
  [
    "openai responses",
    {
      tools: [
        { type: "namespace", name: "crm", tools: [{ type: "function", name: "erase" }] },
        { type: "web_search", name: "harmless" },
      ],
      input: [
        { type: "additional_tools", role: "developer", tools: [{ type: "custom", name: "shell" }] },
        { type: "tool_search_output", tools: [{ type: "function", name: "found" }] },
        { type: "mcp_list_tools", tools: [{ name: "not offered" }] },
      ],
    },
    ["crm", "erase", "web_search", "shell", "found"],
  ],
  [
    "openai chat",
    {
      tools: [{ type: "custom", custom: { name: "own" } }, { type: "live_search" }],
      plugins: [{ id: "web" }],
    },
    ["own", "live_search", "plugin:web"],
  ],
  [
    "anthropic messages",
    {
      tools: [{ type: "computer_toolset_20260801" }, { type: "custom", name: "Read" }],
      messages: [
        { role: "user", content: [{ type: "tool_addition", tool: { name: "not of the user" } }] },
        {
          role: "system",
          content: [
            { type: "tool_addition", tool: { type: "custom", name: "Bash" } },
            { type: "tool_removal", tool: { name: "gone" } },
          ],
        },
      ],
      container: { skills: [{ type: "custom", skill_id: "deploy" }] },
    },
    ["computer_toolset_20260801", "Read", "Bash", "skill:deploy"],
  ],
  ["gemini generateContent", { tools: [{ googleSearch: {} }] }, ["googleSearch"]],
  [
    "gemini generateContent",
    { tools: { function_declarations: [{ name: "run" }], code_execution: {} } },
    ["run", "code_execution"],
  ],
  [
    "gemini generateContent",
    { tools: [{ mcpServers: [{ streamableHttpTransport: { url: "https://mcp.example/a" } }] }] },
    ["mcpServers", "mcp:https://mcp.example/a"],
  ],
  // A server written in Go takes these for the usual members.
  ["openai chat", { Tools: [{ TYPE: "function", Function: { nAme: "run" } }] }, ["run"]],
  ["openai chat", { "tool\u017f": [{ type: "function", function: { name: "run" } }] }, ["run"]],
];

const factsOf = (name: string, body: object) =>
  GATEWAY_METHODS.find((one) => one.name === name)?.dialect.read(body, "model");

test.each(CASES)("%s with %j offers a model the tools %j", (name, body, tools) => {
  expect(factsOf(name, body)?.tools).toEqual(tools);
});

test.each([
  ["openai chat", { max_tokens: 100_000, max_completion_tokens: 1, n: 2 }, { maxOutput: 200_000 }],
  ["openai chat", { model: "a", models: ["b"] }, { model: "a", otherModels: ["b"] }],
  ["openai responses", { background: true }, { isBackground: true, isStreamed: false, stored: [] }],
  [
    "openai responses",
    { previous_response_id: "r", conversation: { id: "c" }, prompt: { id: "p" } },
    { stored: ["p", "r", "c"] },
  ],
  [
    "anthropic messages",
    {
      max_tokens: 10,
      fallbacks: [{ model: "b", max_tokens: 500 }],
      tools: [{ type: "advisor_20260301", name: "advisor", model: "c" }],
      thread: { type: "continue", previous_message_id: "m" },
    },
    { maxOutput: 500, otherModels: ["b", "c"], stored: ["m"] },
  ],
  ["anthropic messages", { fallbacks: "default" }, { otherModels: ["default"] }],
  [
    "gemini generateContent",
    { generation_config: { max_output_tokens: 7, candidate_count: 3 }, cached_content: "cachedContents/a" },
    { model: "model", maxOutput: 21, stored: ["cachedContents/a"] },
  ],
])("%s with %j is read as %j", (name, body, facts) => {
  expect(factsOf(name, body)).toMatchObject(facts);
});

test.each([
  ["openai chat", { model: "small", Model: "large" }],
  ["openai chat", { tools: [], TOOLS: [{ type: "function", function: { name: "run" } }] }],
  ["openai chat", { tools: [{ type: "function", function: { name: "a", Name: "b" } }] }],
  ["gemini generateContent", { generationConfig: {}, generation_config: { max_output_tokens: 1 } }],
])("%s with %j, of which its server may read the one or the other, is refused", (name, body) => {
  expect(() => factsOf(name, body)).toThrow("in two spellings");
});

test("an object with more members than any request has is refused", () => {
  const body = Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`member${index}`, index]));
  expect(() => factsOf("openai chat", body)).toThrow("more than 1000 members");
});
