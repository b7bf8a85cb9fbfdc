import { CODE, type JsonObject, RpcError } from "@reins/acp";
import { settled } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import {
  type Askable,
  AskedQuestions,
  questionId,
  questionIn,
  SessionClients,
  type SessionMessage,
} from "./session-clients.ts";

const PERMISSION = "session/request_permission";
const OPTIONS = {
  options: [
    { optionId: "yes", name: "Yes", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
  ],
};
const YES = { outcome: { outcome: "selected", optionId: "yes" } };
const CANCELLED = { outcome: { outcome: "cancelled" } };
const NO_SIGNAL = new AbortController().signal;

const by = (id: string) => ({ id, tenant: "t" }) as Askable["principal"];

/** The clients of a session; `present` are those that can be asked. */
function open(room: Promise<void> = Promise.resolve()) {
  const logged: SessionMessage[] = [];
  const sent: string[] = [];
  const present: Askable[] = [];
  const asking = new AskedQuestions();
  const session = {
    id: "s",
    record: { tenant: "t", principal: "owner" },
    prompting: undefined as string | undefined,
    appendFromAgent: (event: SessionMessage) => {
      logged.push(event);
      return room;
    },
    turnOver: async () => undefined,
  };
  const clients = new SessionClients(session, {
    harness: { redact: (value) => value },
    sessions: { asking },
    onError: (error) => void sent.push(`error ${String(error)}`),
    present: () => present,
    isConnected: (id) => present.some((one) => one.id === id),
  });
  const attach = (id: string, capabilities: JsonObject = {}, user = `user-${id}`) => {
    const note = async (what: string, { method }: JsonObject) =>
      void sent.push(`${what} ${id} ${String(method)}`);
    present.push({
      ...{ id, principal: by(user), capabilities },
      ask: (_session, _key, message) => note("ask", message),
      send: (message) => note("send", message),
    });
  };
  const detach = (id: string) => {
    present.splice(0, present.length, ...present.filter((one) => one.id !== id));
    clients.left(id);
  };
  /** Ends a connection whose client may reconnect. */
  const drop = (id: string) => {
    present.splice(0, present.length, ...present.filter((one) => one.id !== id));
    clients.ended(id);
  };
  const key = () => clients.questions[0]?.key ?? expect.fail();
  const methods = () => logged.map(({ message }) => message.method);
  return { clients, session, asking, logged, sent, attach, detach, drop, key, methods };
}

test("a question that is withdrawn before there was room to ask it is withdrawn, and nothing else comes of it", async () => {
  const room = Promise.withResolvers<void>();
  const { clients, methods } = open(room.promise);
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  const turn = new AbortController();
  const asked = clients.request(PERMISSION, {}, turn.signal);
  turn.abort(new Error("the turn was cancelled"));
  await new Promise((resolve) => setImmediate(resolve));
  room.resolve();
  await expect(asked).rejects.toThrow("the turn was cancelled");
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
  expect(methods()).toEqual([PERMISSION, "$/cancel_request"]);
  expect(clients.questions).toEqual([]);
});

describe("a permission request", () => {
  test("is answered by the first choice, and cancelled at the other clients", async () => {
    const { clients, attach, key, logged } = open();
    attach("one");
    attach("two");
    const asked = clients.request(PERMISSION, OPTIONS, NO_SIGNAL);
    await settled();
    const question = key();
    expect(clients.answer(question, "two", { value: YES, by: by("b") })).toBe("first");
    expect(await asked).toMatchObject({ value: YES, by: { id: "b" } });
    expect(clients.answer(question, "one", { value: YES, by: by("a") })).toBe("late");
    expect(logged.at(-1)).toMatchObject({ message: { method: "$/cancel_request" }, except: "two" });
  });

  test("waits while no client is attached", async () => {
    const { clients, attach, detach, key } = open();
    const asked = clients.request(PERMISSION, OPTIONS, NO_SIGNAL);
    await settled();
    attach("one");
    detach("one");
    expect(clients.question(key())?.method).toBe(PERMISSION);
    attach("two");
    clients.answer(key(), "two", { value: YES, by: by("b") });
    await asked;
  });

  test("rejects an option that was not offered, and still waits", async () => {
    const { clients, attach, key } = open();
    attach("one");
    const asked = clients.request(PERMISSION, OPTIONS, NO_SIGNAL);
    const other = { outcome: { outcome: "selected", optionId: "maybe" } };
    expect(clients.answer(key(), "one", { value: other, by: by("a") })).toBe("not_offered");
    clients.settle(key(), { value: YES, by: by("elsewhere") });
    expect(await asked).toMatchObject({ by: { id: "elsewhere" } });
  });

  test("that a client cancels is left to the others, unless its own prompt is running", async () => {
    const { clients, session, attach, key } = open();
    attach("one");
    attach("two");
    const asked = clients.request(PERMISSION, OPTIONS, NO_SIGNAL);
    expect(clients.answer(key(), "one", { value: CANCELLED, by: by("a") })).toBe("left");
    session.prompting = "two";
    expect(clients.answer(key(), "two", { value: CANCELLED, by: by("b") })).toBe("first");
    expect(await asked).toMatchObject({ value: CANCELLED });
  });

  test("that all clients which are left chose nothing for is settled when the last other one leaves", async () => {
    const { clients, attach, detach, key } = open();
    attach("one");
    attach("two");
    const asked = clients.request(PERMISSION, OPTIONS, NO_SIGNAL);
    expect(clients.fail(key(), "one", new RpcError(CODE.internal, "broken"), by("a"))).toBe("left");
    detach("two");
    expect(await asked).toEqual({ value: undefined, by: by("a") });
  });

  test("is put again to a client that chose nothing and returns", async () => {
    const { clients, attach, key } = open();
    attach("one");
    attach("two");
    const asked = clients.request(PERMISSION, OPTIONS, NO_SIGNAL);
    expect(clients.answer(key(), "one", { value: {}, by: by("a") })).toBe("left");
    clients.returned("one");
    expect(clients.answer(key(), "two", { value: {}, by: by("b") })).toBe("left");
    expect(clients.answer(key(), "one", { value: YES, by: by("a") })).toBe("first");
    await asked;
  });

  test("is not left to principals that have answered, or that may choose nothing", async () => {
    const { clients, attach, key } = open();
    attach("one");
    attach("two");
    attach("three");
    const asked = clients.request(PERMISSION, OPTIONS, NO_SIGNAL, {
      without: new Set(["user-two"]),
      asked: ({ principal }) => (principal.id === "user-three" ? undefined : OPTIONS),
    });
    expect(clients.answer(key(), "one", { value: {}, by: by("a") })).toBe("first");
    await asked;
  });
});

describe("any other request", () => {
  const READ = "fs/read_text_file";
  const READS = { fs: { readTextFile: true } };

  test("fails as unknown where no client offers it, at once or when the last one that does leaves", async () => {
    const { clients, attach, detach } = open();
    attach("one");
    await expect(clients.request(READ, {}, NO_SIGNAL)).rejects.toMatchObject({ code: CODE.methodNotFound });
    attach("two", READS);
    const asked = clients.request(READ, {}, NO_SIGNAL);
    detach("two");
    await expect(asked).rejects.toMatchObject({ code: CODE.methodNotFound });
  });

  test("is served by the client whose prompt is running, else by one of the owner", () => {
    const { clients, session, attach } = open();
    attach("one", READS);
    expect(clients.whoServes(READ, {})).toBeUndefined();
    session.prompting = "one";
    expect(clients.whoServes(READ, {})).toBe("one");
    session.prompting = undefined;
    session.record.principal = "user-one";
    expect(clients.whoServes(READ, {})).toBe("one");
  });

  test("to one client alone is not logged, and fails with that client", async () => {
    const { clients, attach, detach, sent, logged } = open();
    attach("one", READS);
    attach("two", READS);
    const asked = clients.request(READ, {}, NO_SIGNAL, { only: "one" });
    await settled();
    expect(sent).toEqual([`ask one ${READ}`]);
    detach("one");
    await expect(asked).rejects.toThrow("the client that was asked has gone");
    expect(logged).toEqual([]);
  });

  test("to one client alone is cancelled there when it is withdrawn", async () => {
    const { clients, attach, sent } = open();
    attach("one", READS);
    const turn = new AbortController();
    const asked = clients.request(READ, {}, turn.signal, { only: "one" });
    await settled();
    turn.abort(new Error("the turn was cancelled"));
    await expect(asked).rejects.toThrow("the turn was cancelled");
    await settled();
    expect(sent).toEqual([`ask one ${READ}`, "send one $/cancel_request"]);
  });

  test("passes the client's error on when no other client is left", async () => {
    const { clients, attach, key } = open();
    attach("one", READS);
    const asked = clients.request(READ, {}, NO_SIGNAL);
    expect(clients.fail(key(), "one", new RpcError(CODE.notFound, "no file"), by("a"))).toBe("first");
    await expect(asked).rejects.toThrow("no file");
    expect(clients.fail("other", "one", new RpcError(CODE.notFound, "no file"), by("a"))).toBe("late");
  });
});

test("questions are found by their key while they wait, and where they were asked afterwards", async () => {
  const { clients, asking, attach, key } = open();
  attach("one");
  const asked = clients.request(PERMISSION, OPTIONS, NO_SIGNAL);
  const question = key();
  expect(questionIn(questionId(question))).toBe(question);
  expect([questionIn("reins-1"), questionIn(7)]).toEqual([undefined, undefined]);
  expect(asking.get(question)).toBe(clients);
  clients.answer(question, "one", { value: YES, by: by("a") });
  await asked;
  expect(asking.get(question)).toBeUndefined();
  expect(asking.askedIn(question)).toEqual({ session: "s", tenant: "t" });
  expect(asking.askedIn("unknown")).toBeUndefined();
});

describe("a request to one client", () => {
  const HOST = { _meta: { reins: { bridge: true } } };
  const RUN = { name: "deploy", args: [{}] };

  test("is put to the next connection of its principal once its own has ended, under the same id", async () => {
    const { clients, attach, drop, sent, key } = open();
    attach("old", HOST, "ada");
    const answer = clients.request("builtin_call", RUN, NO_SIGNAL, { only: "old" });
    const asked = key();
    drop("old");
    attach("new", HOST, "ada");
    clients.returned("new");
    clients.left("old");
    expect([key(), clients.question(asked)?.only]).toEqual([asked, "new"]);
    clients.answer(asked, "new", { value: "done", by: by("ada") });
    expect(await answer).toMatchObject({ value: "done" });
    expect(sent).toEqual(["ask old builtin_call", "ask new builtin_call"]);
  });

  test("is put to it, too, where it came before the end of its own was noticed", async () => {
    const { clients, attach, drop, sent, key } = open();
    attach("old", HOST, "ada");
    attach("beside", HOST, "ada");
    const answer = clients.request("builtin_call", RUN, NO_SIGNAL, { only: "old" });
    attach("new", HOST, "ada");
    clients.returned("new");
    expect(sent).toEqual(["ask old builtin_call"]);
    drop("old");
    expect(sent).toEqual(["ask old builtin_call", "ask new builtin_call"]);
    clients.answer(key(), "new", { value: "done", by: by("ada") });
    expect(await answer).toMatchObject({ value: "done" });
  });

  test.each<[string, JsonObject, string, boolean]>([
    ["of another principal", HOST, "eve", true],
    ["that does not offer it", {}, "ada", true],
    ["while its own is there", HOST, "ada", false],
  ])("is not put to a connection %s", async (_, capabilities, user, isGone) => {
    const { clients, attach, drop, sent, key } = open();
    attach("old", HOST, "ada");
    const answer = clients.request("builtin_call", RUN, NO_SIGNAL, { only: "old" });
    const asked = key();
    if (isGone) drop("old");
    attach("new", capabilities, user);
    clients.returned("new");
    expect([sent, clients.question(asked)?.only]).toEqual([["ask old builtin_call"], "old"]);
    clients.left("old");
    await expect(answer).rejects.toThrow("has gone");
  });
});
