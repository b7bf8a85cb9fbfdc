import { approvalOperations, sessionOperations } from "@reins/api";
import { describe, expect, it, vi } from "vitest";
import { AgentsClient } from "./agents.ts";
import { FilesClient } from "./files.ts";
import { Http } from "./http.ts";

const SELF = {
  ...{ id: "ann", kind: "user", user: "ann", tenant: "local", roles: [], scopes: [] },
  is_admin: false,
};

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

/** A server that accepts one token, and a client whose function gets the next one. */
function expiring(next: () => string | Promise<string>) {
  const state = { valid: "first", sent: [] as (string | undefined)[] };
  const http = new Http("http://127.0.0.1:1", {
    token: next,
    fetch: async (url, { headers, body }) => {
      if (body instanceof ReadableStream) for await (const _ of body);
      state.sent.push(`${new URL(url).pathname} ${headers.authorization}`);
      const isValid = headers.authorization === `Bearer ${state.valid}`;
      const answer = url.endsWith("/v1/whoami") ? SELF : { path: "x", bytesWritten: 1, sessions: [] };
      return isValid ? Response.json(answer) : new Response(null, { status: 401 });
    },
  });
  return { state, http };
}

describe("a token that expires", () => {
  it("is got again once for all requests that it was refused to", async () => {
    const tokens = ["first", "second", "third"];
    const { state, http } = expiring(async () => tokens.shift() ?? "none");
    const list = () => http.call(sessionOperations.listSessions);
    await Promise.all([list(), list()]);
    expect(tokens).toEqual(["second", "third"]);
    state.valid = "second";
    await Promise.all([list(), list(), list()]);
    await list();
    expect(tokens).toEqual(["third"]);
  });

  it("is not sent again where it did not change, or where the new one is refused, too", async () => {
    const { state, http } = expiring(() => "old");
    await expect(http.call(sessionOperations.listSessions)).rejects.toMatchObject({ status: 401 });
    expect(state.sent).toHaveLength(1);
    const changing = expiring(() => crypto.randomUUID());
    await expect(changing.http.call(sessionOperations.listSessions)).rejects.toMatchObject({ status: 401 });
    expect(changing.state.sent).toHaveLength(2);
  });

  it("is renewed before a stream is sent, which can be read once", async () => {
    const tokens = ["old", "first"];
    const { state, http } = expiring(() => tokens.shift() ?? "none");
    const content = ReadableStream.from([new Uint8Array([1])]);
    expect(await new FilesClient(http).write("x", content)).toMatchObject({ bytesWritten: 1 });
    expect(state.sent).toEqual([
      "/v1/whoami Bearer old",
      "/v1/whoami Bearer first",
      "/v1/fs/file Bearer first",
    ]);
  });

  it("that cannot be renewed ends the source of what was to be sent", async () => {
    const { http } = expiring(() => "old");
    const ended = vi.fn();
    const content = (async function* () {
      try {
        for (;;) yield new Uint8Array(1_024);
      } finally {
        ended();
      }
    })();
    await expect(new FilesClient(http).write("x", content)).rejects.toMatchObject({ status: 401 });
    await expect.poll(() => ended.mock.calls.length).toBe(1);
  });

  it("that cannot be got rejects, is got anew for the next request, and does not outwait a signal", async () => {
    let next: () => string | Promise<string> = () => {
      throw new Error("the issuer is away");
    };
    const { http } = expiring(() => next());
    const list = (signal?: AbortSignal) => http.call(sessionOperations.listSessions, { signal });
    await expect(list()).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringContaining("the issuer is away"),
    });
    next = () => "two words";
    await expect(list()).rejects.toThrow(/^There is no token to send: The token has characters/);
    next = () => new Promise(() => undefined);
    await expect(list(AbortSignal.timeout(10))).rejects.toThrow("timeout");
  });
});

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

  it("tells when it may be tried again", async () => {
    const headers = { "retry-after": "7" };
    const { http } = answering(() => new Response(null, { status: 429, headers }));
    await expect(http.call(sessionOperations.listSessions)).rejects.toMatchObject({ retryAfterMs: 7_000 });
  });

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
