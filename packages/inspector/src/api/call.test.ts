import { mailboxOperations, runOperations, sessionOperations } from "@reins/api";
import { afterEach, describe, expect, test, vi } from "vitest";
import { call, operationUrl, ProblemError, request } from "./call.ts";

const session = { id: "s" };
const asked: { address: string; options: RequestInit }[] = [];

/** Answers every request with one response. */
function answer(body: unknown, options: ResponseInit = {}): void {
  vi.stubGlobal("fetch", async (address: string, given: RequestInit) => {
    asked.push({ address, options: given });
    return body === undefined ? new Response(null, options) : Response.json(body, options);
  });
}

afterEach(() => {
  vi.unstubAllGlobals();
  asked.length = 0;
});

describe("the address of an operation", () => {
  test.each([
    ["/v1/runs", undefined, undefined, "/v1/runs"],
    ["/v1/runs/{id}", { id: "a b/ü" }, undefined, "/v1/runs/a%20b%2F%C3%BC"],
    ["/v1/runs/{id}/events", { id: "r" }, { limit: 5, after: undefined }, "/v1/runs/r/events?limit=5"],
    ["/v1/ledger", {}, { tag: "a&b=c", session: "s" }, "/v1/ledger?tag=a%26b%3Dc&session=s"],
  ])("fills in parameters and query of %s", (path, params, query, address) => {
    expect(operationUrl(path, params, query)).toBe(address);
  });
});

describe("a call", () => {
  test("returns the validated response", async () => {
    answer({ runs: [] });
    await expect(call(runOperations.listRuns)).resolves.toEqual({ runs: [] });
    expect(asked[0]?.address).toBe("/v1/runs");
    expect(asked[0]?.options).toMatchObject({ method: "GET", credentials: "same-origin" });
    expect(asked[0]?.options.body).toBeUndefined();
  });

  test("rejects a response that does not match the schema", async () => {
    answer({ runs: [{ run_id: 7 }] });
    await expect(call(runOperations.listRuns)).rejects.toThrow();
  });

  test("sends a body as JSON", async () => {
    answer({ id: "m" }, { status: 201 });
    await request(mailboxOperations.sendMail, { body: { to: "pond", body: "hello" } });
    expect(asked[0]?.options).toMatchObject({
      method: "POST",
      body: '{"to":"pond","body":"hello"}',
      headers: { "content-type": "application/json" },
    });
  });

  test("passes the signal on, so that a query can be cancelled", async () => {
    answer({ runs: [] });
    const { signal } = new AbortController();
    await call(runOperations.listRuns, { signal });
    expect(asked[0]?.options.signal).toBe(signal);
  });

  test("throws the problem that the server reports", async () => {
    answer(
      { title: "Not Found", detail: "There is no session s.", code: "not_found" },
      { status: 404, headers: { "content-type": "application/problem+json" } },
    );
    const error = await call(sessionOperations.getSession, { params: session }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({
      status: 404,
      code: "not_found",
      title: "Not Found",
      detail: "There is no session s.",
      message: "Not Found: There is no session s.",
    });
  });

  test("names the status if an error response is no problem document", async () => {
    answer({ title: "from a proxy" }, { status: 502 });
    const error = await call(sessionOperations.getSession, { params: session }).catch((thrown) => thrown);
    expect(error).toMatchObject({ status: 502, code: "unknown", message: "The server answered 502." });
    expect(error.detail).toBeUndefined();
  });
});
