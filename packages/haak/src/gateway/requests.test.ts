import { describe, expect, test } from "vitest";
import { HaakError } from "./haak-error.ts";
import { InitParams, RunParams, readParams } from "./requests.ts";

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
