import { CODE, RpcError } from "@reins/acp";
import { QUEUE_FULL, REFUSED } from "@reins/host";
import { describe, expect, test } from "vitest";
import {
  ChatMessage,
  HaakError,
  InitParams,
  parseParams,
  RunParams,
  toolResultText,
  UserMessage,
} from "./protocol.ts";

describe("request parameters", () => {
  test("SessionMode snake_case serialization", () => {
    for (const mode of ["domain", "persistent", "oneshot"])
      expect(parseParams(InitParams, "session.init", { agent_id: "reed", mode }).mode).toBe(mode);
  });

  test("accept any session key and keep unknown members", () => {
    const params = { agent_id: "agent", session_key: "agent:telegram:@zach", client: "openclaw" };
    expect(parseParams(InitParams, "session.init", params)).toEqual(params);
  });

  test("have either message or messages", () => {
    const session_key = "a:b:c";
    const { message, tools } = parseParams(RunParams, "turn.run", {
      session_key,
      message: "hi",
      tools: [{ name: "x" }],
    });
    expect(message?.content).toEqual([{ type: "text", text: "hi" }]);
    expect(tools).toEqual([{ name: "x", description: "", input_schema: { type: "object" } }]);
    const read = (more: object) => () => parseParams(RunParams, "turn.run", { session_key, ...more });
    expect(read({})).toThrow("turn.run does not take that: message is needed, or messages");
    expect(read({ message: "a", messages: [{ role: "user", content: "b" }] })).toThrow(
      "turn.run does not take that: message and messages are both there; send one of the two",
    );
  });

  test("are rejected with every fault and its path", () => {
    const read = () =>
      parseParams(InitParams, "session.init", { agent_id: "", mode: "forever", cwd: "here" });
    expect(read).toThrow(HaakError);
    expect(read).toThrow(/agent_id .*; mode .*; cwd is an absolute path/);
    expect(() => parseParams(InitParams, "session.init", undefined)).toThrow("agent_id");
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
    expect(JSON.parse(JSON.stringify(ChatMessage.parse(message)))).toEqual(message);
  });

  test("content deserialization: string shorthand and array of blocks", () => {
    const content = [{ type: "text", text: "hi" }];
    expect(ChatMessage.parse({ role: "assistant", content: "hi" })).toEqual({ role: "assistant", content });
    expect(ChatMessage.parse({ role: "assistant", content })).toEqual({ role: "assistant", content });
    expect(UserMessage.parse("hi")).toEqual({ role: "user", content });
    expect(UserMessage.parse({ content: "hi" })).toEqual({ role: "user", content });
  });

  test("keeps unknown members", () => {
    const message = { role: "user", content: [{ ...blocks.text, cache: true }], name: "zach" };
    expect(ChatMessage.parse(message)).toEqual(message);
  });

  test.each([
    ["a role that is none", { role: "boss", content: "x" }],
    ["a block that is none", { role: "user", content: [{ type: "video" }] }],
    ["no content", { role: "user" }],
  ])("is rejected with %s", (_, message) => {
    expect(ChatMessage.safeParse(message).success).toBe(false);
  });
});

test("the text of a tool result names the types of parts without text", () => {
  const result = { type: "tool_result", tool_use_id: "t1" } as const;
  expect(toolResultText({ ...result, content: "plain" })).toBe("plain");
  expect(toolResultText({ ...result, content: [{ type: "text", text: "a" }, { type: "image" }] })).toBe(
    "a\n[image]",
  );
  expect(toolResultText(result)).toBe("");
});

describe("an error of /ws", () => {
  test.each([
    [QUEUE_FULL, "queue_full"],
    [REFUSED, "refused"],
    [CODE.invalidParams, "invalid_params"],
    [CODE.notFound, "session_not_found"],
    [CODE.authRequired, "unauthenticated"],
    [CODE.internal, "internal"],
  ])("maps the JSON-RPC code %i to %s", (code, expected) => {
    expect(HaakError.of(new RpcError(code, "no"))).toMatchObject({ code: expected, message: "no" });
  });

  test("keeps its code, and is internal for any other value that was thrown", () => {
    const error = new HaakError("session_closed", "closed");
    expect(HaakError.of(error)).toBe(error);
    expect(HaakError.of("broken")).toMatchObject({ code: "internal", message: "broken" });
  });
});
