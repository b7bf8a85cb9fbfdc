import { approvalOperations, sessionOperations } from "@reins/api";
import { describe, expect, it } from "vitest";
import { AgentsClient } from "./agents.ts";
import { Http } from "./http.ts";

interface Sent {
  readonly url: string;
  readonly init: RequestInit;
}

function answering(respond: () => Response, token = "secret") {
  const sent: Sent[] = [];
  const send: typeof fetch = async (url, init = {}) => {
    sent.push({ url: String(url), init });
    return respond();
  };
  return { sent, http: new Http("http://127.0.0.1:1/behind/", { token, fetch: send }) };
}

describe("a request", () => {
  it("fills the path, sends the token and follows no redirect", async () => {
    const { sent, http } = answering(() => Response.json({ sessions: [] }));
    await http.call(sessionOperations.listSessions, { query: { agent: "a b", after: undefined } });
    expect(sent[0]).toMatchObject({
      url: "http://127.0.0.1:1/behind/v1/sessions?agent=a+b",
      init: { method: "GET", redirect: "error", headers: { authorization: "Bearer secret" } },
    });
    await http.call(sessionOperations.getSession, { params: { id: "../x?" } }).catch(() => undefined);
    expect(sent[1]?.url).toBe("http://127.0.0.1:1/behind/v1/sessions/..%2Fx%3F");
  });

  it("that is refused rejects with the problem", async () => {
    const body = {
      type: "urn:reins:problem:conflict",
      title: "Conflict",
      status: 409,
      detail: "it is answered already",
      code: "conflict",
    };
    const { http } = answering(() =>
      Response.json(body, { status: 409, headers: { "content-type": "application/problem+json" } }),
    );
    const answer = { params: { id: "x" }, body: { decision: "deny" as const } };
    await expect(http.call(approvalOperations.answerApproval, answer)).rejects.toMatchObject({
      name: "ApiError",
      code: "conflict",
      status: 409,
      detail: "it is answered already",
      message: "Conflict: it is answered already",
    });
  });

  it.each([
    ["a proxy's page", () => new Response("<html>", { status: 502 }), { code: "bad_gateway", status: 502 }],
    ["no JSON", () => new Response("<html>"), { code: "incompatible" }],
    ["another API", () => Response.json({ some: "thing" }), { code: "incompatible" }],
    [
      "no network",
      () => {
        throw new TypeError("fetch failed");
      },
      { code: "unreachable" },
    ],
  ])("that meets %s rejects with a code", async (_, respond, error) => {
    const { http } = answering(respond);
    await expect(http.call(sessionOperations.listSessions)).rejects.toMatchObject(error);
  });

  it("that is aborted rejects with the reason", async () => {
    const { http, sent } = answering(() => Response.json({}));
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(http.call(sessionOperations.listSessions, { signal })).rejects.toThrow("enough");
    expect(sent).toEqual([]);
  });

  it.each(["two words", "line\n", "\u0000", "Zürich"])(
    "with the token %j is refused without naming it",
    (token) => {
      expect(() => answering(() => Response.json({}), token)).toThrow(/^The token has characters/);
    },
  );

  it("whose response breaks off rejects, as does the reading of one that is aborted", async () => {
    const cut = () => {
      const stream = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"sessions":')),
        pull: (controller) => controller.error(new Error("reset")),
      });
      return new Response(stream);
    };
    await expect(answering(cut).http.call(sessionOperations.listSessions)).rejects.toMatchObject({
      code: "unreachable",
    });
    const abort = new AbortController();
    const cancelled = new Response(
      new ReadableStream({
        pull: (controller) => {
          abort.abort(new Error("enough"));
          controller.error(new Error("aborted"));
        },
      }),
    );
    const { http } = answering(() => cancelled);
    const { signal } = abort;
    await expect(http.call(sessionOperations.listSessions, { signal })).rejects.toThrow("enough");
  });

  it.each([
    ["failed", undefined, undefined],
    ["installing", new Error("reset"), "unreachable"],
    ["installing", undefined, "unreachable"],
  ])("for an install yields its progress to %s, and rejects before the end", async (phase, error, code) => {
    const steps = [
      { phase: "installing", done: 1, total: 2 },
      { phase, done: 2, total: 2, code: "x", message: "y" },
    ];
    const events = steps.map((step) => `event: progress\ndata: ${JSON.stringify(step)}\n\n`);
    const body = new ReadableStream({
      pull: (controller) => {
        const next = events.shift();
        if (next !== undefined) controller.enqueue(new TextEncoder().encode(next));
        else if (error) controller.error(error);
        else controller.close();
      },
    });
    const { http, sent } = answering(() => new Response(body));
    const seen: unknown[] = [];
    const done = (async () => {
      for await (const step of new AgentsClient(http).install("claude")) seen.push(step.phase);
    })();
    expect(await done.catch((fault: unknown) => fault)).toEqual(code && expect.objectContaining({ code }));
    expect(seen).toEqual(["installing", phase]);
    expect(sent[0]?.init.headers).toMatchObject({ accept: "text/event-stream" });
  });

  it.each(["ftp://x", "http://u:p@x", "http://x?token=y", "http://x#code"])("to %s is refused", (url) => {
    expect(() => new Http(url, {})).toThrow("without a token");
  });
});
