import { approvalOperations, identityOperations, problem } from "@reins/api";
import { describe, expect, it } from "vitest";
import { ApiClient, problemError } from "./api-client.ts";
import type { ApiTransport, TransportRequest, TransportResponse } from "./transport.ts";

const faultOf = (...given: Parameters<typeof problem>) => {
  const body = problem(...given);
  return problemError({ status: body.status, body }, "here", { not_found: "Look again." });
};

describe("a problem", () => {
  it("becomes an error with the detail of the server and what to do", () => {
    expect(faultOf("conflict", "the approval apr_1 is denied already: ann said deny")).toMatchObject({
      message: "The approval apr_1 is denied already: ann said deny.",
      exitCode: 1,
    });
    expect(faultOf("not_found", "reed is not on the roster")).toMatchObject({
      message: "reed is not on the roster.",
      next: "Look again.",
      exitCode: 1,
    });
  });

  it("lists invalid members, with the exit code of wrong usage", () => {
    const errors = [
      { path: "email", message: "Invalid email address" },
      { path: "", message: "too much" },
    ];
    expect(faultOf("invalid", "✖ …", errors)).toMatchObject({
      message: "email: Invalid email address; too much.",
      exitCode: 2,
    });
  });

  it("reports a rejected token, with the exit code of an unreachable server", () => {
    expect(faultOf("unauthenticated", "the token is not known")).toMatchObject({
      next: expect.stringContaining("--token"),
      exitCode: 3,
    });
  });

  it("cannot control the terminal", () => {
    expect(faultOf("forbidden", "no\u001b[2Jthing").message).toBe("No\\u{1b}[2Jthing.".replace("No", "no"));
  });

  it("rejects a response that is no problem of Reins", () => {
    expect(problemError({ status: 502, body: "<html>" }, "http://x", {})).toMatchObject({
      message: expect.stringContaining("http://x is not a compatible Reins"),
      exitCode: 3,
    });
  });
});

/** A transport with a fixed response that records its requests. */
function answering(answer: TransportResponse) {
  const asked: TransportRequest[] = [];
  const transport: ApiTransport = {
    address: "here",
    async send(request) {
      asked.push(request);
      return answer;
    },
  };
  return { client: new ApiClient(transport), asked };
}

describe("an API client", () => {
  it("sends params, query and body", async () => {
    const { client, asked } = answering({ status: 200, body: { approvals: [] } });
    await client.call(approvalOperations.listApprovals, {
      query: { state: "used", session: "a b", limit: 5 },
    });
    expect(asked).toEqual([
      { method: "GET", path: "/v1/approvals?state=used&session=a+b&limit=5", body: undefined },
    ]);
  });

  it("escapes names in the path", async () => {
    const { client, asked } = answering({ status: 204, body: undefined });
    await client.call(identityOperations.revokeToken, { params: { token: "../users/ann?x#y" } });
    expect(asked[0]?.path).toBe("/v1/identity/tokens/..%2Fusers%2Fann%3Fx%23y");
  });

  it("reports a problem", async () => {
    const body = problem("forbidden", "an agent may not ask for this");
    const { client } = answering({ status: 403, body });
    await expect(client.call(approvalOperations.listGrants)).rejects.toThrow(
      "An agent may not ask for this.",
    );
  });

  it("rejects a response that does not match the operation", async () => {
    const { client } = answering({ status: 200, body: { approvals: [{ id: 1 }] } });
    await expect(client.call(approvalOperations.listApprovals)).rejects.toThrow("not a compatible Reins");
  });

  it("rejects an event that is too long to come from Reins", async () => {
    const transport: ApiTransport = {
      address: "here",
      send: async () => ({ status: 200, body: {} }),
      follow: async () => ({
        status: 200,
        chunks: (async function* () {
          for (let sent = 0; sent < 9; sent += 1) yield Buffer.from(`data: ${"x".repeat(1 << 20)}\n`);
        })(),
      }),
    };
    const { signal } = new AbortController();
    const events = await new ApiClient(transport).follow(approvalOperations.streamApprovals, { signal });
    await expect(Array.fromAsync(events)).rejects.toMatchObject({
      message: "An event is too long to be one of Reins.",
      exitCode: 3,
    });
  });

  it("cannot stream without a running server", async () => {
    const { client } = answering({ status: 200, body: {} });
    const { signal } = new AbortController();
    await expect(client.follow(approvalOperations.streamApprovals, { signal })).rejects.toThrow(
      "No Reins runs on here",
    );
  });
});
