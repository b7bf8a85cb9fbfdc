import { describe, expect, it } from "vitest";
import { settleServer } from "./options.ts";

const handlers = "handlers.ts";

describe("how to serve", () => {
  it("has the protocol's defaults", () => {
    expect(settleServer({ handlers })).toEqual({
      config: { timeout_ms: 10_000, batch_size: 100, max_depth: 10 },
      compat: false,
      requireHandshake: false,
    });
  });

  it("takes what flags say", () => {
    const flags = { name: "mine", requireHandshake: true, deadlineMs: "5", maxDepth: "0", batchSize: "1" };
    expect(settleServer({ handlers, ...flags })).toEqual({
      config: { timeout_ms: 5, batch_size: 1, max_depth: 0 },
      compat: false,
      requireHandshake: true,
      info: { name: "mine" },
    });
  });

  it("refuses what cannot be", () => {
    expect(() => settleServer({ handlers, compat: true, deadlineMs: "5" })).toThrow("--compat");
    expect(() => settleServer({ handlers, deadlineMs: "0" })).toThrow("--deadline-ms");
    expect(() => settleServer({ handlers, maxDepth: "deep" })).toThrow("--max-depth");
  });
});
