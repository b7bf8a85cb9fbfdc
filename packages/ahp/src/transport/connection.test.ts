import { ManualClock } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import { AhpServer } from "../server/server.ts";
import { Connection, type Link } from "./connection.ts";
import { InFlight, type Limits, settleLimits } from "./limits.ts";

interface Held {
  readonly name: string;
  release(): void;
}

function bounds(limits: Partial<Limits> = {}) {
  const settled = settleLimits(limits);
  return { limits: settled, inFlight: new InFlight(settled) };
}

/** A connection whose handlers and link are in the test's hand. */
function connect(limits: Partial<Limits> = {}, compat = false, inFlight = bounds(limits).inFlight) {
  const held: Held[] = [];
  const clock = new ManualClock();
  const server = new AhpServer(
    {
      event: ({ session_id }) =>
        new Promise((resolve) =>
          held.push({ name: session_id, release: () => resolve({ decision: "allow" }) }),
        ),
    },
    { clock, deadlineMs: 1_000_000, compat },
  );
  const link = { sent: [] as string[], buffered: 0, log: [] as string[] };
  const port: Link = {
    send: (text) => link.sent.push(JSON.parse(text).id),
    get buffered() {
      return link.buffered;
    },
    pause: () => link.log.push("pause"),
    resume: () => link.log.push("resume"),
    close: () => link.log.push("close"),
    destroy: () => link.log.push("destroy"),
  };
  const connection = new Connection(server, port, { transport: "unix" }, { ...bounds(limits), inFlight });
  const ask = (id: string) => {
    const params = {
      event_type: "pre_action",
      session_id: id,
      agent_id: "a",
      timestamp: "t",
      depth: 0,
      payload: {},
    };
    connection.receive(JSON.stringify({ jsonrpc: "2.0", id, method: "ahp/event", params }));
  };
  const release = async (name: string) => {
    held.find((one) => one.name === name)?.release();
    await settle();
  };
  return { connection, link, clock, held, ask, release };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("a slow request delays no other", async () => {
  const { link, ask, release } = connect();
  ask("slow");
  ask("fast");
  await release("fast");
  expect(link.sent).toEqual(["fast"]);
  await release("slow");
  expect(link.sent).toEqual(["fast", "slow"]);
});

test("in compatibility mode each waits for the one before", async () => {
  const { link, held, ask, release } = connect({}, true);
  ask("a");
  ask("b");
  expect(held.map(({ name }) => name)).toEqual(["a"]);
  await release("a");
  await release("b");
  expect(link.sent).toEqual(["a", "b"]);
});

test("beyond its bound of requests it stops reading until one is answered", async () => {
  const { link, held, ask, release } = connect({ maxInFlight: 2 });
  for (const id of ["a", "b", "c", "d"]) ask(id);
  expect(held.map(({ name }) => name)).toEqual(["a", "b"]);
  expect(link.log).toEqual(["pause"]);
  await release("a");
  expect(held.map(({ name }) => name)).toEqual(["a", "b", "c"]);
  expect(link.log).toEqual(["pause"]);
  await release("b");
  await release("c");
  expect(link.log).toEqual(["pause", "resume"]);
  await release("d");
  expect(link.sent).toEqual(["a", "b", "c", "d"]);
});

test("what waits for decisions keeps nothing else from being answered", async () => {
  const { connection, link, held, ask, release } = connect({ maxInFlight: 2 });
  for (const id of ["a", "b", "c"]) ask(id);
  const query = { session_id: "s", agent_id: "a", query_type: "q", payload: {} };
  connection.receive(JSON.stringify({ jsonrpc: "2.0", id: "q", method: "ahp/query", params: query }));
  await settle();
  expect(link.sent).toEqual(["q"]);
  expect(link.log).toEqual([]);
  expect(held.map(({ name }) => name)).toEqual(["a", "b"]);
  await release("a");
  expect(held.map(({ name }) => name)).toEqual(["a", "b", "c"]);
});

test("a connection that finds the share of its principal taken goes on when another has released it", async () => {
  const limits = settleLimits({ maxInFlightPerPrincipal: 2 });
  const inFlight = new InFlight(limits);
  const places = [1, 2].map((peer) => inFlight.take("decisions", { principal: "", peer }, 1));
  const { link, held, ask, release } = connect(limits, false, inFlight);
  ask("a");
  await settle();
  expect(held).toEqual([]);
  places[0]?.release();
  await settle();
  await release("a");
  expect(link.sent).toEqual(["a"]);
});

test("a peer that does not read is not read from, and cut off if it stays so", async () => {
  const { link, clock, ask, release } = connect({ maxBufferedBytes: 10, stallMs: 500 });
  ask("a");
  link.buffered = 11;
  await release("a");
  expect(link.log).toEqual(["pause"]);
  await clock.advanceAndSettle(499);
  expect(link.log).toEqual(["pause"]);
  await clock.advanceAndSettle(1);
  expect(link.log).toEqual(["pause", "destroy"]);
});

test("a peer that reads again is read from again", async () => {
  const { connection, link, clock, held, ask, release } = connect({ maxBufferedBytes: 10, stallMs: 500 });
  ask("a");
  link.buffered = 11;
  await release("a");
  ask("b");
  expect(held).toHaveLength(1);
  link.buffered = 0;
  connection.drained();
  expect(held).toHaveLength(2);
  expect(link.log).toEqual(["pause", "resume"]);
  await clock.advanceAndSettle(10_000);
  expect(link.log).not.toContain("destroy");
});

test("ending waits for what is under way, then closes", async () => {
  const { connection, link, ask, release } = connect();
  ask("a");
  const ended = connection.end();
  await settle();
  expect(link.log).toEqual([]);
  await release("a");
  await ended;
  expect(link.sent).toEqual(["a"]);
  expect(link.log).toEqual(["close"]);
});

test("answers for a peer that has gone are dropped", async () => {
  const { connection, link, ask, release } = connect();
  ask("a");
  connection.lost();
  await release("a");
  ask("b");
  expect(link.sent).toEqual([]);
  await connection.end();
});

test("a message too large to take is answered, and not in compatibility mode", () => {
  const answered = (compat: boolean) => {
    const sent: string[] = [];
    const link = {
      send: (text: string) => sent.push(text),
      buffered: 0,
      pause() {},
      resume() {},
      close() {},
      destroy() {},
    };
    const server = new AhpServer({ event: () => ({ decision: "allow" }) }, { compat });
    new Connection(server, link, { transport: "unix" }, bounds({ maxMessageBytes: 5 })).refuse("too_large");
    return sent.map((text) => JSON.parse(text));
  };
  expect(answered(false)).toEqual([
    {
      jsonrpc: "2.0",
      id: null,
      error: {
        code: -32700,
        message: "Parse error",
        data: { fault: "too_large", limit: 5, reason: "parse_error" },
      },
    },
  ]);
  expect(answered(true)).toEqual([]);
});

test("a listener for dropped messages that throws is ignored", () => {
  const broken = () => {
    throw new Error("its own trouble");
  };
  const server = new AhpServer({ event: () => ({ decision: "allow" }) }, { compat: true, onDropped: broken });
  const nothing = () => undefined;
  const link: Link = {
    ...{ send: nothing, buffered: 0, pause: nothing, resume: nothing, close: nothing, destroy: nothing },
  };
  const connection = new Connection(server, link, { transport: "unix" }, bounds());
  for (const fault of ["too_large", "invalid_utf8"] as const)
    expect(() => connection.refuse(fault)).not.toThrow();
});
