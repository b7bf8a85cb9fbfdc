import { approvalOperations, identityOperations, problem } from "@reins/api";
import type { FetchRequest } from "@reins/sdk/http";
import { describe, expect, it } from "vitest";
import { ApiClient, idByPrefix } from "./api-client.ts";

/** A client of a server with one response, and the requests that it got. */
function answering(status: number, body?: unknown, type = "application/problem+json") {
  const asked: { url: string; method: string; body: unknown }[] = [];
  const fetch = async (url: string, request: FetchRequest) => {
    asked.push({ url, method: request.method, body: request.body });
    const text = body === undefined ? null : JSON.stringify(body);
    return new Response(text, { status, headers: { "content-type": type } });
  };
  return { client: new ApiClient({ address: "here", fetch }), asked };
}

const faultOf = async (...given: Parameters<typeof problem>) => {
  const body = problem(...given);
  const { client } = answering(body.status, body);
  const advice = { not_found: "Look again." };
  return client.call(approvalOperations.listGrants, { advice }).catch((error: unknown) => error);
};

describe("a problem", () => {
  it("becomes an error with the detail of the server and what to do", async () => {
    expect(await faultOf("conflict", "the approval apr_1 is denied already: ann said deny")).toMatchObject({
      message: "The approval apr_1 is denied already: ann said deny.",
      exitCode: 1,
    });
    expect(await faultOf("not_found", "reed is not on the roster")).toMatchObject({
      message: "reed is not on the roster.",
      next: "Look again.",
      exitCode: 1,
    });
  });

  it("lists invalid members, with the exit code of wrong usage", async () => {
    const errors = [
      { path: "email", message: "Invalid email address" },
      { path: "", message: "too much" },
    ];
    expect(await faultOf("invalid", "✖ …", errors)).toMatchObject({
      message: "email: Invalid email address; too much.",
      exitCode: 2,
    });
  });

  it("reports a rejected token, with the exit code of an unreachable server", async () => {
    expect(await faultOf("unauthenticated", "the token is not known")).toMatchObject({
      next: expect.stringContaining("--token"),
      exitCode: 3,
    });
  });

  it("cannot control the terminal", async () => {
    expect(await faultOf("forbidden", "no\u001b[2Jthing")).toMatchObject({ message: "no\\u{1b}[2Jthing." });
  });

  it("rejects a response that is no problem of Reins", async () => {
    const { client } = answering(502, "<html>", "text/html");
    await expect(client.call(approvalOperations.listGrants)).rejects.toMatchObject({
      message: expect.stringContaining("here is not a compatible Reins"),
      exitCode: 3,
    });
  });
});

describe("an API client", () => {
  it("sends params, query and body", async () => {
    const { client, asked } = answering(200, { approvals: [] });
    await client.call(approvalOperations.listApprovals, {
      query: { state: "used", session: "a b", limit: 5 },
    });
    expect(asked).toEqual([
      { url: "http://localhost/v1/approvals?state=used&session=a+b&limit=5", method: "GET", body: undefined },
    ]);
  });

  it("escapes names in the path", async () => {
    const { client, asked } = answering(204);
    await client.call(identityOperations.revokeToken, { params: { token: "../users/ann?x#y" } });
    expect(asked[0]?.url).toBe("http://localhost/v1/identity/tokens/..%2Fusers%2Fann%3Fx%23y");
  });

  it("reports a problem", async () => {
    const body = problem("forbidden", "an agent may not ask for this");
    const { client } = answering(403, body);
    await expect(client.call(approvalOperations.listGrants)).rejects.toThrow(
      "An agent may not ask for this.",
    );
  });

  it("rejects a response that does not match the operation", async () => {
    const { client } = answering(200, { approvals: [{ id: 1 }] });
    await expect(client.call(approvalOperations.listApprovals)).rejects.toThrow("not a compatible Reins");
  });

  it("cannot stream without a running server", async () => {
    const { client } = answering(406, problem("not_acceptable", "no stream here"));
    const options = { signal: new AbortController().signal, onState: () => undefined };
    const events = client.follow(approvalOperations.streamApprovals, options);
    await expect(events.next()).rejects.toThrow("No Reins runs on here");
  });
});

const FORM = { what: "grant", mark: "grt_", length: 12, list: "reins approvals grants" };
const pages = (...found: string[][]) =>
  async function* () {
    for (const ids of found) yield ids.map((id) => ({ id }));
  };

describe("an abbreviated id", () => {
  const known = [pages(["grt_aaaa1111"], ["grt_bbbb1111", "grt_bbbb2222"])];

  it("is completed with or without its common prefix", async () => {
    expect(await idByPrefix("grt_aaaa", FORM, known)).toBe("grt_aaaa1111");
    expect(await idByPrefix("bbbb2", FORM, known)).toBe("grt_bbbb2222");
  });

  it("is searched in order until something is found", async () => {
    const searches = [pages(["grt_aaaa1111"]), pages(["grt_aaaa1111", "grt_aaaa2222", "grt_cccc3333"])];
    expect(await idByPrefix("aaaa", FORM, searches)).toBe("grt_aaaa1111");
    expect(await idByPrefix("cccc", FORM, searches)).toBe("grt_cccc3333");
  });

  it("is not searched when it is complete", async () => {
    expect(await idByPrefix("grt_zzzz9999", FORM, [])).toBe("grt_zzzz9999");
  });

  it("is rejected when it is ambiguous", async () => {
    await expect(idByPrefix("bbbb", FORM, known)).rejects.toMatchObject({
      message: '"bbbb" is the beginning of more than one grant.',
      next: "Give more of the id:\n  grt_bbbb1111\n  grt_bbbb2222",
      exitCode: 2,
    });
    await expect(idByPrefix("bbb", FORM, known)).rejects.toMatchObject({ exitCode: 2 });
  });

  it("is rejected when nothing matches", async () => {
    await expect(idByPrefix("zzzz", FORM, known)).rejects.toMatchObject({
      message: "There is no grant whose id begins with grt_zzzz.",
      next: "To see them: reins approvals grants",
      exitCode: 1,
    });
  });
});
