import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { asEvent, readEvent } from "./explain.ts";

describe("an event", () => {
  it("of AHP is kept", () => {
    const event = { event_type: "pre_prompt", session_id: "s", agent_id: "a", depth: 1, payload: { x: 1 } };
    expect(asEvent({ ...event, timestamp: "now" })).toEqual(event);
  });

  it("without a type is a pre_action", () => {
    const call = { tool_name: "bash", arguments: {} };
    expect(asEvent(call)).toEqual({
      event_type: "pre_action",
      session_id: undefined,
      agent_id: undefined,
      depth: 0,
      payload: call,
    });
  });

  it("is rejected when it names a tool beside its payload", () => {
    expect(() => asEvent({ event_type: "pre_action", tool_name: "bash", arguments: {} })).toThrow(
      "beside its payload",
    );
    expect(asEvent({ event_type: "session_start" }).payload).toEqual({});
  });

  it.each([[null], [[]], ["text"], [1]])("%j is none", (value) => {
    expect(() => asEvent(value)).toThrow("not a JSON object");
  });

  it("is read from the command line or from stdin", async () => {
    const empty = Readable.from([]);
    expect((await readEvent('{"tool_name":"x"}', empty)).payload).toEqual({ tool_name: "x" });
    expect((await readEvent("-", Readable.from(['{"tool_name":"y"}']))).payload).toEqual({ tool_name: "y" });
    await expect(readEvent("{", empty)).rejects.toThrow("not JSON");
  });
});
