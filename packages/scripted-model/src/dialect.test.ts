import { describe, expect, it } from "vitest";
import { anthropic } from "./anthropic.ts";
import { readRequest } from "./dialect.ts";
import { gemini } from "./gemini.ts";
import { openaiChat, openaiResponses } from "./openai.ts";

const schema = { type: "object", properties: { path: {}, text: {} }, required: ["path"] };
const tool = { name: "write", freeform: false, properties: ["path", "text"], required: ["path"] };

/** One conversation, as each dialect sends it. */
const said = [
  {
    dialect: anthropic,
    path: "/v1/messages",
    body: {
      model: "m",
      stream: true,
      system: [{ type: "text", text: "Be good." }],
      messages: [
        { role: "user", content: "Write." },
        { role: "assistant", content: [{ type: "tool_use", id: "1", name: "write", input: {} }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "1", content: [{ type: "text", text: "done" }] }],
        },
      ],
      tools: [{ name: "write", input_schema: schema }],
    },
  },
  {
    dialect: openaiChat,
    path: "/v1/chat/completions",
    body: {
      model: "m",
      stream: true,
      messages: [
        { role: "system", content: "Be good." },
        { role: "user", content: [{ type: "text", text: "Write." }] },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "1", function: { name: "write", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "1", content: "done" },
      ],
      tools: [{ type: "function", function: { name: "write", parameters: schema } }],
    },
  },
  {
    dialect: openaiResponses,
    path: "/v1/responses",
    body: {
      model: "m",
      stream: true,
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "Be good." }] },
        { type: "message", role: "user", content: [{ type: "input_text", text: "Write." }] },
        { type: "function_call", call_id: "1", name: "write", arguments: "{}" },
        { type: "function_call_output", call_id: "1", output: "done" },
      ],
      tools: [{ type: "function", name: "write", parameters: schema }],
    },
  },
  {
    dialect: gemini,
    path: "/v1beta/models/m:streamGenerateContent",
    body: {
      systemInstruction: { parts: [{ text: "Be good." }] },
      contents: [
        { role: "user", parts: [{ text: "Write." }] },
        { role: "model", parts: [{ functionCall: { id: "1", name: "write", args: {} } }] },
        { role: "user", parts: [{ functionResponse: { id: "1", name: "write", response: "done" } }] },
      ],
      tools: [{ functionDeclarations: [{ name: "write", parametersJsonSchema: schema }] }],
    },
  },
];

describe.each(said)("$dialect.name", ({ dialect, path, body }) => {
  it("is read into the same conversation", () => {
    expect(dialect.answers(path)).toBe(true);
    const { system, items, ...conversation } = readRequest(dialect, path, body);
    expect(system.trim()).toBe("Be good.");
    const usage = { input: 10, output: 5 };
    expect(conversation).toEqual({ dialect: dialect.name, model: "m", streamed: true, tools: [tool], usage });
    expect(items).toEqual([
      { role: "user", text: "Write." },
      { role: "assistant", text: "", calls: ["write"] },
      { role: "tool", call: "1", text: expect.stringContaining("done") },
    ]);
  });

  it("is read as nothing much when there is nothing", () => {
    expect(readRequest(dialect, path, undefined)).toMatchObject({ items: [], tools: [] });
  });
});

describe("the Responses API", () => {
  it("finds the tools that are put into the conversation, with their groups", () => {
    const input = [
      {
        type: "additional_tools",
        role: "developer",
        tools: [{ type: "namespace", name: "functions", tools: [{ type: "custom", name: "exec" }] }],
      },
    ];
    expect(readRequest(openaiResponses, "/v1/responses", { input }).tools).toEqual([
      { name: "exec", namespace: "functions", freeform: true, properties: [], required: [] },
    ]);
  });
});
