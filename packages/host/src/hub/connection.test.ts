import { CODE, type JsonObject, RpcError } from "@reins/acp";
import { settled } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import type { Passing } from "../wire/agent-channel.ts";
import { Connection, Conversation } from "./connection.ts";
import type { ConnectionOptions } from "./context.ts";
import type { Hub } from "./hub.ts";

const KEY = "00000000-0000-4000-8000-000000000000";
const QUESTION = `reins-${KEY}`;
const principal = { id: "ada", tenant: "t", kind: "user" } as ConnectionOptions["principal"];

/** A connection to a hub whose answers the test plays, with an open question in the session `s`. */
function open(options: Partial<ConnectionOptions> = {}, tap?: (passing: Passing) => void) {
  const asked: { method: string; signal: AbortSignal; arrival: unknown }[] = [];
  const responses = new Map<string, PromiseWithResolvers<unknown>>();
  const did: string[] = [];
  const clients = {
    questions: [{ key: KEY }],
    question: () => ({ key: KEY }),
    answer: (_: string, by: string) => {
      did.push(`answer ${by}`);
      return "first";
    },
    fail: (_: string, by: string, { message }: Error) => {
      did.push(`fail ${by} ${message}`);
      return "left";
    },
    returned: (by: string) => void did.push(`returned ${by}`),
    left: (by: string) => void did.push(`left ${by}`),
  };
  const hub = {
    tap,
    harness: { redact: (value: unknown) => value },
    log: {
      append: ({ session, message }: { session: string; message: JsonObject }) =>
        void did.push(`log ${session} ${String(message.method)}`),
      written: async () => undefined,
      last: () => 4,
    },
    sessions: {
      asking: { askedIn: (key: string) => (key === KEY ? { tenant: "t", session: "s" } : undefined) },
    },
    turns: {
      subscribe: (_: unknown, session: string) => void did.push(`subscribe ${session}`),
      unsubscribe: (id: string, session: string) => void did.push(`unsubscribe ${id} ${session}`),
    },
    asking: () => clients,
    live: () => ({ clients }),
    request: (_: unknown, method: string, __: unknown, signal: AbortSignal, arrival: unknown) => {
      asked.push({ method, signal, arrival });
      const response = Promise.withResolvers<unknown>();
      responses.set(method, response);
      return response.promise;
    },
    notification: async (_: unknown, method: string) => void did.push(`notified ${method}`),
  };
  const connection = new Connection(hub as unknown as Hub, { id: "c", principal, ...options });
  const answer = (method: string) => responses.get(method) ?? expect.fail();
  return { connection, asked, answer, did };
}

describe("a connection", () => {
  test("follows a session until it detaches, and reports both", () => {
    let follows = 0;
    const { connection, did } = open({ followsTurns: true, onFollow: () => (follows += 1) });
    connection.attach({ id: "s" }, 7);
    connection.attach({ id: "s" }, 9);
    expect([...connection.following]).toEqual([["s", 7]]);
    expect([connection.detach("s"), connection.detach("s"), connection.sessions]).toEqual([true, false, []]);
    expect(did).toEqual(["subscribe s", "returned c", "unsubscribe c s", "left c"]);
    expect(follows).toBe(2);
  });

  test("follows nothing after it was closed", () => {
    const { connection } = open();
    connection.close();
    connection.attach({ id: "s" });
    expect(connection.sessions).toEqual([]);
  });

  test("can be asked about a session that it follows while its own prompt runs, once it had a feed", () => {
    const { connection } = open();
    connection.attach({ id: "s" });
    expect(connection.canBeAsked("s", "c")).toBe(false);
    expect(connection.canBeAsked("other", "c")).toBe(false);
  });

  test.each<[string, Partial<ConnectionOptions>, string, boolean, string]>([
    ["of a session that it follows is answered", {}, QUESTION, true, "first"],
    ["of a session that it does not follow is not its own", {}, QUESTION, false, "foreign"],
    [
      "is not answered by an agent",
      { principal: { ...principal, kind: "agent" } },
      QUESTION,
      true,
      "foreign",
    ],
    [
      "of another tenant is unknown",
      { principal: { ...principal, tenant: "other" } },
      QUESTION,
      true,
      "unknown",
    ],
    ["that was never put is unknown", {}, "reins-none", true, "unknown"],
  ])("a question %s", (_, options, id, follows, expected) => {
    const { connection } = open(options);
    if (follows) connection.attach({ id: "s" });
    expect(connection.answer(id, {})).toBe(expected);
    if (expected === "first") expect(connection.fail(id, { code: 1, message: "no" })).toBe("left");
  });

  test("logs what it sends, with the session or without", async () => {
    const { connection, did } = open();
    await connection.send({ method: "a" });
    await connection.note({ method: "b" }, "s");
    await connection.ask("s", KEY, { method: "c" });
    expect(did).toEqual(["log connection:c a", "log connection:c:s b", "log connection:c:s c"]);
  });

  test("shows the tap requests, answers and notifications", async () => {
    const passed: unknown[] = [];
    const { connection, answer } = open({}, ({ direction, session, message }) =>
      passed.push([direction, session, message.method ?? message.result ?? message.error]),
    );
    const request = connection.request("session/prompt", { sessionId: "s" }, new AbortController().signal, 1);
    answer("session/prompt").resolve("done");
    await request;
    await connection.notification("session/cancel", { sessionId: "s" });
    expect(passed).toEqual([
      ["in", "s", "session/prompt"],
      ["out", undefined, "done"],
      ["in", "s", "session/cancel"],
    ]);
  });

  test("passes the number on under which its request arrived", () => {
    const { connection, asked } = open({ arrival: 7 });
    void connection.request("session/prompt", {}, new AbortController().signal);
    expect(asked).toMatchObject([{ arrival: 7 }]);
  });
});

describe("the requests of a client", () => {
  const never = new AbortController().signal;

  test("are answered with their ids, and an error is a response", async () => {
    const { connection, answer } = open();
    const conversation = new Conversation(connection, never);
    const [one, two] = [conversation.ask(1, "a", {}), conversation.ask("x", "b", {})];
    expect(conversation.underWay).toBe(2);
    answer("b").reject(new RpcError(CODE.notFound, "no"));
    answer("a").resolve(undefined);
    expect(await one).toEqual({ jsonrpc: "2.0", id: 1, result: null });
    expect(await two).toEqual({ jsonrpc: "2.0", id: "x", error: { code: CODE.notFound, message: "no" } });
    expect(conversation.underWay).toBe(0);
  });

  test("can be cancelled one by one", async () => {
    const { connection, asked, did } = open();
    const conversation = new Conversation(connection, never);
    void conversation.ask(1, "a", {});
    void conversation.ask(2, "b", {});
    await conversation.notify("$/cancel_request", { requestId: 1 });
    await conversation.notify("$/cancel_request", { requestId: 9 });
    await conversation.notify("session/cancel", {});
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    expect(asked[0]?.signal.reason).toMatchObject({ code: CODE.cancelled });
    expect(did).toEqual(["notified session/cancel"]);
  });

  test("are cancelled when the client is gone, also those that come after", async () => {
    const { connection, asked } = open();
    const gone = new AbortController();
    const conversation = new Conversation(connection, gone.signal);
    void conversation.ask(1, "a", {});
    gone.abort(new Error("gone"));
    void conversation.ask(2, "b", {});
    await settled();
    expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect(conversation.askedFor(9)).toEqual({ times: 0, isOpen: false });
  });

  test("are bounded", async () => {
    const { connection } = open();
    const conversation = new Conversation(connection, never);
    for (let id = 0; id < 256; id += 1) void conversation.ask(id, `m${id}`, {});
    expect(await conversation.ask(256, "more", {})).toMatchObject({ error: { code: CODE.invalidRequest } });
  });
});
