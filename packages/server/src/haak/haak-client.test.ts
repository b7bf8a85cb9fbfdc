import { describe, expect, test } from "vitest";
import { frameIn } from "./haak-client.ts";

describe("a frame", () => {
  test("is parsed with or without a version, and keeps any id", () => {
    for (const id of ["a", 1, null, { deep: [1] }]) {
      const text = JSON.stringify({ id, method: "session.status", params: { session_key: "a" } });
      expect(frameIn(text)).toEqual({
        ...{ kind: "request", envelope: { id }, method: "session.status" },
        params: { session_key: "a" },
      });
    }
    expect(frameIn('{"jsonrpc":"2.0","id":1,"method":"m"}')).toMatchObject({
      envelope: { jsonrpc: "2.0", id: 1 },
      params: undefined,
    });
    expect(frameIn('{"method":"m"}')).toMatchObject({ envelope: { id: null } });
  });

  test.each([
    ["{", null, "this is no JSON"],
    [`{"id":${"[".repeat(5_000)}${"]".repeat(5_000)},"method":"m"}`, null, "nested too deep"],
    [`{"id":1,"method":"m","params":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}`, null, "nested too deep"],
    ["null", null, "a request is an object"],
    ["[]", null, "a request is an object"],
    ['{"id":7}', 7, "a request is an object"],
    ['{"id":7,"method":1}', 7, "a request is an object"],
  ])("that is invalid, %.40s, gets an error with its id", (text, id, reason) => {
    expect(frameIn(text)).toEqual({
      ...{ kind: "fault", envelope: { id }, reason: expect.stringContaining(reason) },
    });
  });
});
