import { describe, expect, test } from "vitest";
import {
  HaakError,
  InitParams,
  Message,
  RunParams,
  readParams,
  resultText,
  UserMessage,
} from "./protocol.ts";

describe("what a client sends", () => {
  test("SessionMode snake_case serialization", () => {
    for (const mode of ["domain", "persistent", "oneshot"])
      expect(readParams(InitParams, "session.init", { agent_id: "reed", mode }).mode).toBe(mode);
  });

  test("names its session as it likes, and keeps what nobody here knows", () => {
    const params = { agent_id: "agent", session_key: "agent:telegram:@zach", client: "openclaw" };
    expect(readParams(InitParams, "session.init", params)).toEqual(params);
  });

  test("has either one message or several", () => {
    const session_key = "a:b:c";
    const { message, tools } = readParams(RunParams, "turn.run", {
      session_key,
      message: "hi",
      tools: [{ name: "x" }],
    });
    expect(message?.content).toEqual([{ type: "text", text: "hi" }]);
    expect(tools).toEqual([{ name: "x", description: "", input_schema: { type: "object" } }]);
    const read = (more: object) => () => readParams(RunParams, "turn.run", { session_key, ...more });
    expect(read({})).toThrow("turn.run does not take that: message is needed, or messages");
    expect(read({ message: "a", messages: [{ role: "user", content: "b" }] })).toThrow(
      "turn.run does not take that: message and messages are both there; send one of the two",
    );
  });

  test("is refused with what is wrong and where", () => {
    const read = () => readParams(InitParams, "session.init", { agent_id: "", mode: "forever", cwd: "here" });
    expect(read).toThrow(HaakError);
    expect(read).toThrow(/agent_id .*; mode .*; cwd is an absolute path/);
    expect(() => readParams(InitParams, "session.init", undefined)).toThrow("agent_id");
  });
});

const blocks = {
  text: { type: "text", text: "hi" },
  thinking: { type: "thinking", thinking: "hm", signature: "s" },
  tool_use: { type: "tool_use", id: "t1", name: "bash", input: { command: "ls" } },
  tool_result: { type: "tool_result", tool_use_id: "t1", content: "a.txt", is_error: false },
  image: { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } },
} as const;

describe("a message", () => {
  test.each(Object.entries(blocks))("ContentBlock roundtrip: %s", (_, block) => {
    const message = { role: "user", content: [block] };
    expect(JSON.parse(JSON.stringify(Message.parse(message)))).toEqual(message);
  });

  test("content deserialization: string shorthand and array of blocks", () => {
    const content = [{ type: "text", text: "hi" }];
    expect(Message.parse({ role: "assistant", content: "hi" })).toEqual({ role: "assistant", content });
    expect(Message.parse({ role: "assistant", content })).toEqual({ role: "assistant", content });
    expect(UserMessage.parse("hi")).toEqual({ role: "user", content });
    expect(UserMessage.parse({ content: "hi" })).toEqual({ role: "user", content });
  });

  test("members that nobody here knows stay", () => {
    const message = { role: "user", content: [{ ...blocks.text, cache: true }], name: "zach" };
    expect(Message.parse(message)).toEqual(message);
  });

  test.each([
    ["a role that is none", { role: "boss", content: "x" }],
    ["a block that is none", { role: "user", content: [{ type: "video" }] }],
    ["no content", { role: "user" }],
  ])("is refused with %s", (_, message) => {
    expect(Message.safeParse(message).success).toBe(false);
  });
});

test("the text of a result is its text, or what its parts are", () => {
  const result = { type: "tool_result", tool_use_id: "t1" } as const;
  expect(resultText({ ...result, content: "plain" })).toBe("plain");
  expect(resultText({ ...result, content: [{ type: "text", text: "a" }, { type: "image" }] })).toBe(
    "a\n[image]",
  );
  expect(resultText(result)).toBe("");
});
