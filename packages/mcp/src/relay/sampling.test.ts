import { describe, expect, test } from "vitest";
import { asksForSampling, withoutSampling } from "./sampling.ts";

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
