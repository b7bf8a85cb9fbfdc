import { approvalOperations, NoMembers, RpcId, RpcMessage } from "@reins/api";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HttpProblem } from "../problems.ts";
import { accepts, fitsQuickly, readCall, withTrace } from "./request.ts";

const { listApprovals, answerApproval } = approvalOperations;

function httpProblem(run: () => unknown): HttpProblem {
  try {
    run();
  } catch (error) {
    if (error instanceof HttpProblem) return error;
  }
  throw new Error("it was not refused");
}

describe("the trace of a prompt", () => {
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const params = { sessionId: "s", _meta: { other: 1 } };
  const traced = (
    headers: Record<string, string>,
    given: typeof params = params,
    method = "session/prompt",
  ) => withTrace({ headers }, method, given);

  test("is that of its HTTP request, with the state of the trace", () => {
    expect(traced({ traceparent, tracestate: "a=1" })).toEqual({
      sessionId: "s",
      _meta: { other: 1, traceparent, tracestate: "a=1" },
    });
    expect(withTrace({ headers: { traceparent } }, "session/prompt", {})).toEqual({ _meta: { traceparent } });
  });

  test("is that of its _meta first, and no header changes another request or adds what is no trace", () => {
    const own = { ...params, _meta: { other: 1, traceparent: "own" } };
    expect(traced({ traceparent }, own)).toBe(own);
    expect(traced({ traceparent }, params, "session/new")).toBe(params);
    expect(traced({ tracestate: "a=1" })).toBe(params);
    for (const bad of ["", "00-x", `${traceparent} `, `${traceparent}-${"x".repeat(9_000)}`])
      expect(traced({ traceparent: bad })).toBe(params);
  });
});

describe("what comes with a request", () => {
  test("is parsed by the operation's schemas", () => {
    const given = { params: {}, query: { limit: "7", state: "pending" }, body: { ignored: true } };
    expect(readCall(listApprovals, given)).toEqual({
      params: {},
      query: { limit: 7, state: "pending" },
      body: undefined,
    });
  });

  test.each([
    ["a limit of nothing", { limit: "0" }, "query.limit"],
    ["a limit beyond the bound", { limit: "501" }, "query.limit"],
    ["a state that is none", { state: "perhaps" }, "query.state"],
    ["a name given twice", { session: ["a", "b"] }, "query.session"],
    ["an unknown member", { tenant: "other" }, "query"],
  ])("with %s is rejected member by member", (_, query, path) => {
    const { problem } = httpProblem(() => readCall(listApprovals, { params: {}, query, body: undefined }));
    expect(problem).toMatchObject({
      status: 400,
      code: "invalid",
      errors: [expect.objectContaining({ path })],
    });
  });

  test("without a required body is rejected", () => {
    const { problem } = httpProblem(() =>
      readCall(answerApproval, { params: { id: "apr_1" }, query: {}, body: undefined }),
    );
    expect(problem.errors).toEqual([expect.objectContaining({ path: "body" })]);
  });
});

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

test("a value that passes the fast check is accepted unchanged by the schema", () => {
  fc.assert(
    fc.property(fc.oneof(message, fc.anything()), fc.constantFrom(NoMembers, RpcMessage), (value, schema) => {
      if (fitsQuickly(schema, value)) expect(schema.parse(value)).toEqual(value);
    }),
    { numRuns: 2_000 },
  );
});

test("typical messages pass the fast check", () => {
  expect(fitsQuickly(NoMembers, {})).toBe(true);
  expect(fitsQuickly(RpcMessage, { jsonrpc: "2.0", id: 7, method: "session/prompt", params: {} })).toBe(true);
  expect(fitsQuickly(RpcMessage, { jsonrpc: "2.0", method: "session/cancel" })).toBe(true);
  expect(fitsQuickly(RpcMessage, { jsonrpc: "2.0", id: "a", result: null })).toBe(true);
});

test("other schemas have no fast check", () => {
  expect(fitsQuickly(RpcId, 7)).toBe(false);
});

test.each([
  [undefined, true],
  ["", true],
  ["*/*", true],
  ["application/*", true],
  ["text/html, application/json;q=0.5", true],
  ["APPLICATION/JSON", true],
  ["application/json; q=0", false],
  ["application/json;q=0.000", false],
  ["text/event-stream", false],
  ["text/html", false],
])("Accept %j allows JSON: %s", (accept, taken) => {
  expect(accepts({ headers: { accept } }, "application/json")).toBe(taken);
});
