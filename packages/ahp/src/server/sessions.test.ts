import { describe, expect, test } from "vitest";
import { ask, eventOf, handshakeOf, notification, request, send } from "../../test/messages.ts";
import type { Peer } from "./handlers.ts";
import { AhpServer, type ServerOptions } from "./server.ts";

/** A harness that insists on a handshake and issues the tokens t1, t2, … */
function strict(options: ServerOptions = {}) {
  let issued = 0;
  const seen: (string | undefined)[] = [];
  const server = new AhpServer(
    {
      event(_, { session }) {
        seen.push(session?.session_id);
        return { decision: "allow" };
      },
      notification(_, { session }) {
        seen.push(session?.session_id);
      },
      query: () => ({ answer: 1 }),
    },
    {
      requireHandshake: true,
      newToken: () => {
        issued += 1;
        return `t${issued}`;
      },
      ...options,
    },
  );
  return { server, seen };
}

const http = (rest: Omit<Peer, "transport"> = {}): Peer => ({ transport: "http", ...rest });
const named = (session_id: string, agent_id = "a") => eventOf("pre_action", { session_id, agent_id });

/** Whether the harness takes an event from that peer. */
async function admits(server: AhpServer, peer: Peer, event = named("s")): Promise<boolean> {
  const { error } = await ask(server, "ahp/event", event, peer);
  if (error) expect(error).toMatchObject({ code: -32001, data: { reason: "handshake_required" } });
  return error === undefined;
}

describe("where a handshake must come first", () => {
  test.each(["stdio", "websocket", "unix", "memory"] as const)(
    "a %s connection is let in by its own handshake, whatever its events name",
    async (transport) => {
      const { server, seen } = strict();
      const peer = { transport };
      expect(await admits(server, peer)).toBe(false);
      await ask(server, "ahp/handshake", handshakeOf(), peer);
      expect(await admits(server, peer)).toBe(true);
      expect(await admits(server, peer, named("other"))).toBe(true);
      expect(await admits(server, { transport })).toBe(false);
      expect(seen).toEqual(["s", "s"]);
    },
  );

  test("a refused handshake opens no session", async () => {
    const { server } = strict();
    const peer: Peer = { transport: "stdio" };
    await ask(server, "ahp/handshake", handshakeOf({ protocol_version: "3.0" }), peer);
    expect(await admits(server, peer)).toBe(false);
  });

  test("questions and batches, empty ones too, have to wait as well", async () => {
    const { server } = strict();
    const question = { session_id: "s", agent_id: "a", query_type: "t", payload: null };
    const peer: Peer = { transport: "unix" };
    for (const [method, params] of [
      ["ahp/query", question],
      ["ahp/batch", { events: [named("s")] }],
      ["ahp/batch", { events: [] }],
    ] as const) {
      expect(await ask(server, method, params, peer)).toMatchObject({ error: { code: -32001 } });
    }
    await ask(server, "ahp/handshake", handshakeOf(), peer);
    expect(await ask(server, "ahp/query", question, peer)).toMatchObject({ result: { answer: 1 } });
    expect(await ask(server, "ahp/batch", { events: [] }, peer)).toMatchObject({ result: { decisions: [] } });
  });

  test("a notification is dropped, over HTTP answered", async () => {
    const dropped: string[] = [];
    const { server, seen } = strict({ onDropped: (reason) => dropped.push(reason) });
    const text = notification(eventOf("post_action"));
    expect(await send(server, text, { transport: "stdio" })).toBeUndefined();
    expect(dropped).toEqual(["Protocol error: Handshake must complete before sending AHP operations"]);
    expect(await send(server, text, http())).toMatchObject({ id: "", error: { code: -32001 } });
    expect(seen).toEqual([]);
  });

  test("what cannot be read is still reported as that", async () => {
    const { server } = strict();
    expect(await ask(server, "ahp/event", {})).toMatchObject({ error: { code: -32602 } });
    expect(await ask(server, "ahp/query", {})).toMatchObject({ error: { code: -32602 } });
  });
});

describe("over HTTP, where every request is a connection of its own,", () => {
  test("a session is known by its token", async () => {
    const { server, seen } = strict();
    await ask(server, "ahp/handshake", handshakeOf(), http());
    expect(await admits(server, http({ sessionToken: "t1" }), named("unknown"))).toBe(true);
    expect(seen).toEqual(["s"]);
  });

  test("an unknown token opens no session, whatever the event names", async () => {
    const { server } = strict();
    await ask(server, "ahp/handshake", handshakeOf(), http());
    expect(await admits(server, http({ sessionToken: "t2" }))).toBe(false);
    expect(await admits(server, http({ sessionToken: "" }))).toBe(false);
  });

  test("a session is known by the names in the event", async () => {
    const { server } = strict();
    await ask(server, "ahp/handshake", handshakeOf(), http());
    expect(await admits(server, http())).toBe(true);
    expect(await admits(server, http(), named("s", "b"))).toBe(false);
    expect(await admits(server, http(), named("other"))).toBe(false);
  });

  test.each([
    ["another principal", { principal: "bob" }],
    ["no principal", {}],
    ["a principal named null", { principal: "null" }],
  ])("a session is not for %s", async (_, other) => {
    const { server } = strict();
    await ask(server, "ahp/handshake", handshakeOf(), http({ principal: "alice" }));
    expect(await admits(server, http(other))).toBe(false);
    expect(await admits(server, http({ ...other, sessionToken: "t1" }))).toBe(false);
    expect(await admits(server, http({ principal: "alice" }))).toBe(true);
    expect(await admits(server, http({ principal: "alice", sessionToken: "t1" }))).toBe(true);
  });

  test("each event of a batch belongs to the session it names", async () => {
    const { server, seen } = strict();
    await ask(server, "ahp/handshake", handshakeOf({ session_id: "one" }), http());
    await ask(server, "ahp/handshake", handshakeOf({ session_id: "two" }), http());
    await ask(server, "ahp/batch", { events: [named("two"), named("one")] }, http());
    expect(seen).toEqual(["two", "one"]);
  });

  test("a batch with an event of an unknown session is refused before anything is decided", async () => {
    const { server, seen } = strict();
    await ask(server, "ahp/handshake", handshakeOf({ session_id: "one" }), http());
    const reply = await ask(server, "ahp/batch", { events: [named("one"), named("two")] }, http());
    expect(reply).toMatchObject({ error: { code: -32001 } });
    expect(seen).toEqual([]);
  });

  test("a handshake on a stream is not known", async () => {
    const { server } = strict();
    await ask(server, "ahp/handshake", handshakeOf(), { transport: "websocket" });
    expect(await admits(server, http())).toBe(false);
    expect(await admits(server, http({ sessionToken: "t1" }))).toBe(false);
  });
});

describe("only so many sessions are remembered", () => {
  async function opened(server: AhpServer, ...sessions: string[]): Promise<void> {
    for (const session_id of sessions) {
      await ask(server, "ahp/handshake", handshakeOf({ session_id }), http());
    }
  }

  test("the oldest makes room, by name and by token", async () => {
    const { server } = strict({ sessionBound: 2 });
    await opened(server, "one", "two", "three");
    expect(await admits(server, http(), named("one"))).toBe(false);
    expect(await admits(server, http(), named("two"))).toBe(true);
    expect(await admits(server, http(), named("three"))).toBe(true);
    expect(await admits(server, http({ sessionToken: "t1" }))).toBe(false);
    expect(await admits(server, http({ sessionToken: "t2" }))).toBe(true);
  });

  test("one is enough for one agent", async () => {
    const { server } = strict({ sessionBound: 1 });
    await opened(server, "one");
    expect(await admits(server, http(), named("one"))).toBe(true);
    expect(await admits(server, http({ sessionToken: "t1" }))).toBe(true);
  });

  test("shaking hands again makes a session young", async () => {
    const { server } = strict({ sessionBound: 2 });
    await opened(server, "one", "two", "one", "three");
    expect(await admits(server, http(), named("one"))).toBe(true);
    expect(await admits(server, http(), named("two"))).toBe(false);
  });
});

test("without that rule anyone is served", async () => {
  const { server, seen } = strict({ requireHandshake: false });
  expect(await admits(server, { transport: "stdio" })).toBe(true);
  expect(await admits(server, http({ sessionToken: "nonsense" }))).toBe(true);
  expect(seen).toEqual([undefined, undefined]);
});

test("over HTTP a handshake of the same principal covers events under other names, but no other principal's", async () => {
  const server = new AhpServer({ event: () => ({ decision: "allow" }) }, { requireHandshake: true });
  const ann = { transport: "http", principal: "ann" } as const;
  const shake = request("ahp/handshake", handshakeOf());
  await server.handleMessage(shake, { ...ann });
  const other = request("ahp/event", { ...eventOf("pre_action"), session_id: "other", agent_id: "random" });
  const empty = request("ahp/batch", { events: [] });
  for (const text of [other, empty]) {
    expect(JSON.parse((await server.handleMessage(text, { ...ann })) ?? "")).toHaveProperty("result");
    expect(JSON.parse((await server.handleMessage(text, { ...ann, principal: "eve" })) ?? "")).toHaveProperty(
      "error",
    );
    expect(JSON.parse((await server.handleMessage(text, { transport: "http" })) ?? "")).toHaveProperty(
      "error",
    );
  }
});
