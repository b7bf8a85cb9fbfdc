import { describe, expect, test } from "vitest";
import type { Message } from "../history/entry.ts";
import { chatRequest } from "./openai-chat.ts";
import { openAiUsage } from "./openai-client.ts";

const text = (words: string) => ({ type: "text" as const, text: words });
const image = { type: "image" as const, mimeType: "image/png", data: "AAAA" };

function messagesOf(...messages: readonly Message[]) {
  return chatRequest("m", { system: "s", messages, tools: [], thoughtLevel: "default" }).messages.slice(1);
}

test("PDF that a tool found is a file where the server takes such, and named otherwise", () => {
  const media = [{ mimeType: "application/pdf", data: "JVBERg==" }] as const;
  const results = [{ call: "c", name: "read_file", text: "PDF, 4 bytes", isError: false, media: [...media] }];
  const sent = (takesPdf: boolean) =>
    chatRequest(
      "m",
      { system: "", messages: [{ role: "tool", results }], tools: [], thoughtLevel: "default" },
      takesPdf,
    ).messages.at(-1);
  const file = { filename: "document.pdf", file_data: "data:application/pdf;base64,JVBERg==" };
  const seen = { type: "text", text: "PDF, 4 bytes" };
  expect(sent(true)).toEqual({ role: "user", content: [seen, { type: "file", file }] });
  expect(JSON.stringify(sent(false))).toContain("gets no PDF");
  expect(JSON.stringify(sent(false))).not.toContain("JVBERg==");
});

describe("a request in Chat Completions", () => {
  test("has no two user messages in a row, and text as a string", () => {
    expect(
      messagesOf(
        { role: "user", parts: [text("hello")] },
        { role: "user", parts: [text("beside it")] },
        { role: "assistant", model: "m", parts: [text("yes")] },
        { role: "user", parts: [text("next")] },
      ),
    ).toEqual([
      { role: "user", content: "hello\n\nbeside it" },
      { role: "assistant", content: "yes" },
      { role: "user", content: "next" },
    ]);
  });

  const call = { type: "call" as const, id: "1", name: "read_file", toolCallId: "t", arguments: "{}" };
  const says = (words: string): Message => ({ role: "assistant", model: "m", parts: [text(words)] });
  const png = { mimeType: "image/png" as const, data: "AAAA" };

  test("has user and assistant take turns, whatever follows the results of calls", () => {
    const calling: Message = { role: "assistant", model: "m", parts: [text("reading"), call] };
    const result = { call: "1", name: "read_file", text: "content", isError: false };
    const thought: Message = { role: "assistant", model: "m", parts: [{ type: "thinking", text: "hm" }] };
    const pieces: readonly (readonly Message[])[] = [
      [{ role: "user", parts: [text("instructions of the folder")] }],
      [
        { role: "user", parts: [text("instructions")] },
        { role: "user", parts: [text("steering")] },
      ],
      [thought, { role: "user", parts: [text("next prompt")] }],
      [says("part one"), says("part two"), { role: "user", parts: [text("next prompt")] }],
      [says("part one"), calling, { role: "tool", results: [{ ...result, media: [png] }] }],
      [],
    ];
    for (const piece of pieces) {
      const all = messagesOf(
        ...[{ role: "user", parts: [text("look")] } as const, calling],
        ...[{ role: "tool", results: [result] } as const, ...piece],
      );
      // As the templates of Mistral's models count: calls and results stand beside the turns.
      const turns = all.filter(({ role, ...rest }) => role !== "tool" && !("tool_calls" in rest));
      const roles = turns.map(({ role }) => role);
      expect(roles).toEqual(roles.map((_, index) => (index % 2 === 0 ? "user" : "assistant")));
    }
  });

  test("joins what the assistant said in parts", () => {
    expect(messagesOf(says("part one"), { role: "assistant", model: "m", parts: [call] })).toEqual([
      {
        ...{ role: "assistant", content: "part one" },
        tool_calls: [{ id: "1", type: "function", function: { name: "read_file", arguments: "{}" } }],
      },
    ]);
  });

  test("keeps images beside the text", () => {
    const [message] = messagesOf(
      { role: "user", parts: [text("look"), image] },
      { role: "user", parts: [text("now")] },
    );
    expect(message).toEqual({
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        { type: "text", text: "now" },
      ],
    });
  });

  test.each(['{"path": "a', "", "null", "[1]", '"x"'])("never returns the invalid arguments %j", (broken) => {
    const call = { type: "call" as const, id: "1", name: "read_file", toolCallId: "t", arguments: broken };
    const [message] = messagesOf({ role: "assistant", model: "m", parts: [call] });
    expect(message).toMatchObject({ tool_calls: [{ function: { arguments: "{}" } }] });
  });

  test("has no members in a tool that the protocol does not know", () => {
    const parameters = { type: "object" };
    const tool = { name: "a", description: "b", parameters, kind: "read", isReadOnly: true };
    const { tools } = chatRequest("m", { system: "", messages: [], tools: [tool], thoughtLevel: "default" });
    expect(tools).toEqual([{ type: "function", function: { name: "a", description: "b", parameters } }]);
  });

  test("returns valid arguments unchanged", () => {
    const json = '{ "path":"a" }';
    const call = { type: "call" as const, id: "1", name: "read_file", toolCallId: "t", arguments: json };
    const [message] = messagesOf({ role: "assistant", model: "m", parts: [call] });
    expect(message).toMatchObject({ tool_calls: [{ function: { arguments: json } }] });
  });
});

test("the tokens that a cache held or took are counted apart from other input", () => {
  const reported = { input: 50, output: 6, cached: 20, cacheWritten: 25, thought: undefined };
  expect(openAiUsage(reported)).toEqual({
    ...{ inputTokens: 5, outputTokens: 6, cachedReadTokens: 20, cachedWriteTokens: 25 },
  });
});
