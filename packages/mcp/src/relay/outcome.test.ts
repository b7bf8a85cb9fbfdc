import { describe, expect, test } from "vitest";
import { asksForSampling, performed, refusal, withoutSampling } from "./outcome.ts";

const outcome = (response: object) => performed({ response: { ...response } }, false, false).outcome;

describe("what came of a call", () => {
  test.each([
    [{ result: { content: [] } }, { kind: "completed", result: { content: [] } }],
    [{ result: { resultType: "complete" } }, { kind: "completed" }],
    [
      { result: { isError: true } },
      { kind: "failed", performed: true, reason: "the tool says that it failed" },
    ],
    [
      { error: { code: 5, message: "no" } },
      { kind: "failed", performed: true, reason: "no", error: { code: 5 } },
    ],
    [{ result: { resultType: "input_required", requestState: "x" } }, { kind: "unknown" }],
    [
      { result: { task: { taskId: "t1" } } },
      { kind: "unknown", reason: "the server goes on with it as task t1" },
    ],
    [{ result: { resultType: "task" } }, { kind: "unknown" }],
    [{ result: { n: JSON.rawJSON("1.0") } }, { kind: "completed", result: { n: 1 } }],
  ])("is read from the answer: %j", (response, expected) => {
    expect(outcome(response)).toMatchObject(expected);
  });

  test("is read from the loss where there is no answer", () => {
    const lost = (delivered: boolean) => performed({ loss: { text: "gone", delivered } }, false, false);
    expect(lost(true).outcome).toEqual({ kind: "unknown", reason: "gone" });
    expect(lost(false).outcome).toEqual({ kind: "failed", reason: "gone", performed: false });
    expect(lost(true).response).toEqual({ jsonrpc: "2.0", error: { code: -32_000, message: "gone" } });
  });

  test("that asks for sampling is passed on only where that is allowed", () => {
    const response = {
      result: { resultType: "input_required", inputRequests: { a: { method: "sampling/createMessage" } } },
    };
    expect(performed({ response }, true, true).response).toBe(response);
    expect(performed({ response }, true, false).response).toMatchObject({ result: { isError: true } });
  });

  test("is returned to the model in the form of its revision", () => {
    expect(refusal("no", false)).toEqual({
      jsonrpc: "2.0",
      result: { content: [{ type: "text", text: "no" }], isError: true },
    });
    expect(refusal("no", true)).toMatchObject({ result: { resultType: "complete" } });
  });
});

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

describe("sampling", () => {
  test("is not offered to the server, once or with each request", () => {
    const capabilities = { sampling: { tools: {} }, roots: {} };
    expect(withoutSampling({ id: 1, method: "initialize", params: { capabilities, x: 1 } })).toEqual({
      id: 1,
      method: "initialize",
      params: { capabilities: { roots: {} }, x: 1 },
    });
    const meta = { [CAPABILITIES]: capabilities, progressToken: 1 };
    expect(withoutSampling({ method: "tools/list", params: { _meta: meta } })).toEqual({
      method: "tools/list",
      params: { _meta: { [CAPABILITIES]: { roots: {} }, progressToken: 1 } },
    });
  });

  test("leaves everything else as it is", () => {
    for (const message of [
      { method: "tools/call", params: { capabilities: { sampling: {} } } },
      { method: "initialize", params: { capabilities: {} } },
      { method: "ping" },
    ]) {
      expect(withoutSampling(message)).toBe(message);
    }
  });

  test("is seen where a result asks for it", () => {
    const asking = (method: string) => ({
      result: { inputRequests: { a: { method: "roots/list" }, b: { method } } },
    });
    expect(asksForSampling(asking("sampling/createMessage"))).toBe(true);
    expect(asksForSampling(asking("elicitation/create"))).toBe(false);
    expect(asksForSampling({ result: {} })).toBe(false);
  });
});
