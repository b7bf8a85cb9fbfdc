import { errorMessage } from "@reins/kit";
import { describe, expect, test } from "vitest";
import { AhpError, type AhpErrorCode } from "./errors.ts";

const TEXT: Readonly<Record<AhpErrorCode, string>> = {
  protocol: "Protocol error: x",
  serialization: "Serialization error: x",
  unsupported: "Capability not supported: x",
  transport: "Transport error: x",
  authentication: "Authentication failed: x",
  io: "IO error: x",
  timeout: "x",
  closed: "x",
  invalid_decision: "Invalid decision: x",
  other: "x",
};

describe("an error", () => {
  test.each(Object.entries(TEXT))("%s reads %j, as other implementations say it", (code, text) => {
    expect(new AhpError(code as AhpErrorCode, "x").message).toBe(text);
  });

  test("keeps its cause and what the other side answered", () => {
    const cause = new Error("deeper");
    const rpc = { code: -32603, message: "m", data: { reason: "busy" } };
    expect(new AhpError("protocol", "x", { cause, rpc })).toMatchObject({ cause, rpc });
  });

  test("of time and of a closed connection has its fixed text", () => {
    expect(AhpError.timeout(250)).toMatchObject({ code: "timeout", message: "Timeout after 250ms" });
    expect(AhpError.closed()).toMatchObject({ code: "closed", message: "Connection closed" });
  });
});

test.each([
  [new TypeError("t"), "t"],
  ["s", "s"],
  [5, "5"],
  [Symbol("x"), "Symbol(x)"],
  [null, "null"],
  [Object.create(null), "a value without a text was thrown"],
])("anything that is thrown has a text: %s", (thrown, text) => {
  expect(errorMessage(thrown)).toBe(text);
});
