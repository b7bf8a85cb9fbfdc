import { NoMembers, RpcId, RpcMessage } from "@reins/api";
import fc from "fast-check";
import { expect, test } from "vitest";
import { surelyFits } from "./surely-fits.ts";

const id = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.constant(null), fc.boolean(), fc.object());
const edges = fc.constantFrom("", "x".repeat(256), "x".repeat(257), "x".repeat(1_024), "x".repeat(1_025));
const message = fc.record(
  {
    jsonrpc: fc.constantFrom<unknown>("2.0", "2.0", "2.0", "1.0", 2),
    id: fc.oneof(id, edges, fc.constantFrom(2 ** 53, -(2 ** 53), -0, 1e21)),
    method: fc.oneof(fc.string(), edges, fc.anything()),
    params: fc.anything(),
    more: fc.anything(),
  },
  { requiredKeys: [] },
);

test("what surely fits a schema is what the schema makes of it", () => {
  fc.assert(
    fc.property(fc.oneof(message, fc.anything()), fc.constantFrom(NoMembers, RpcMessage), (value, schema) => {
      if (surelyFits(schema, value)) expect(schema.parse(value)).toEqual(value);
    }),
    { numRuns: 2_000 },
  );
});

test("whatever clients send as a rule does so", () => {
  expect(surelyFits(NoMembers, {})).toBe(true);
  expect(surelyFits(RpcMessage, { jsonrpc: "2.0", id: 7, method: "session/prompt", params: {} })).toBe(true);
  expect(surelyFits(RpcMessage, { jsonrpc: "2.0", method: "session/cancel" })).toBe(true);
  expect(surelyFits(RpcMessage, { jsonrpc: "2.0", id: "a", result: null })).toBe(true);
});

test("a schema of which nothing is known judges for itself", () => {
  expect(surelyFits(RpcId, 7)).toBe(false);
});
