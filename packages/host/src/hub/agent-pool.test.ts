import { ManualClock, settled } from "@reins/kit/manual-clock";
import { expect, test } from "vitest";
import { AgentPool } from "./agent-pool.ts";

/** A pool whose agents a test ends; `started` counts them. */
function open({ stop = async () => undefined }: { readonly stop?: () => Promise<undefined> } = {}) {
  const clock = new ManualClock();
  const deaths: AbortController[] = [];
  const host = {
    start: async () => {
      const death = new AbortController();
      deaths.push(death);
      return { governor: { signal: death.signal }, stop } as never;
    },
  };
  const pool = new AgentPool({ host, clock, clients: () => undefined as never, onGone: () => undefined });
  const acquire = () => pool.acquire("stub", { tenant: "default", id: "ann" } as never);
  const crash = () => deaths.at(-1)?.abort(new Error("it died"));
  return { pool, clock, acquire, crash, started: () => deaths.length };
}

test("an agent that dies is started again, later each time", async () => {
  const { clock, acquire, crash, started } = open();
  await acquire();
  for (const wait of [500, 1_000, 2_000]) {
    const before = started();
    crash();
    const again = acquire();
    await clock.advanceAndSettle(wait - 1);
    expect(started()).toBe(before);
    await clock.advanceAndSettle(1);
    await again;
    expect(started()).toBe(before + 1);
  }
  await clock.advanceAndSettle(600_000);
  crash();
  const again = acquire();
  await clock.advanceAndSettle(500);
  await again;
});

test("one that goes on dying is given up for a while, and that is said", async () => {
  const { clock, acquire, crash } = open();
  for (let count = 0; count < 8; count += 1) {
    const agent = acquire();
    await clock.advanceAndSettle(60_000);
    await agent;
    crash();
  }
  await expect(acquire()).rejects.toThrow(
    /^stub has ended by itself 8 times .* not started again before 2026/,
  );
  await clock.advanceAndSettle(600_000);
  await expect(acquire()).resolves.toBeDefined();
});

test("a pool that closes rejects requests for agents that wait", async () => {
  const { pool, acquire, crash } = open();
  await acquire();
  crash();
  const again = acquire().catch((error: Error) => error.message);
  await settled();
  await pool.close("it stops");
  expect(await again).toBe("Reins is stopping");
});

test("an agent is not started where its predecessor has not left yet", async () => {
  const stopped = Promise.withResolvers<undefined>();
  const { pool, acquire, started } = open({ stop: () => stopped.promise });
  const ending = pool.end(await acquire(), "it is idle");
  const again = acquire();
  await settled();
  expect(started()).toBe(1);
  stopped.resolve(undefined);
  await Promise.all([ending, again]);
  expect(started()).toBe(2);
});

test("one that is being stopped is waited for when Reins stops", async () => {
  const stopped = Promise.withResolvers<undefined>();
  const { pool, acquire } = open({ stop: () => stopped.promise });
  const ending = pool.end(await acquire(), "it is idle");
  let isClosed = false;
  const closing = pool.close("it stops").then(() => {
    isClosed = true;
  });
  await settled();
  expect(isClosed).toBe(false);
  stopped.resolve(undefined);
  await Promise.all([ending, closing]);
});

test("lists the agents that run without waiting for one that is being started", async () => {
  const { pool, clock, acquire, crash } = open();
  const agent = await acquire();
  expect(pool.running).toEqual([agent]);
  crash();
  const again = acquire();
  expect(pool.running).toEqual([]);
  await clock.advanceAndSettle(500);
  expect(pool.running).toEqual([await again]);
});

test("who ends one that died meanwhile leaves the one in its place alone", async () => {
  const { pool, clock, acquire, crash } = open();
  const first = await acquire();
  crash();
  const next = acquire();
  await clock.advanceAndSettle(500);
  const second = await next;
  await pool.end(first, "it is idle");
  expect(pool.running).toEqual([second]);
  expect(await acquire()).toBe(second);
});

test("sessions with MCP servers have a process each where an agent would mix them, and share one where not", async () => {
  const { clock } = open();
  let started = 0;
  const host = {
    separates: (agent: string) => agent === "mixes",
    start: async () => {
      started += 1;
      return { governor: { signal: new AbortController().signal }, stop: async () => undefined } as never;
    },
  };
  const pool = new AgentPool({ host, clock, clients: () => undefined as never, onGone: () => undefined });
  const ann = { tenant: "default", id: "ann" } as never;
  const [plain, again, one, other, back] = [
    await pool.acquire("mixes", ann, ["/w"]),
    await pool.acquire("mixes", ann, ["/w"]),
    await pool.acquire("mixes", ann, ["/w"], "session-1"),
    await pool.acquire("mixes", ann, ["/w"], "session-2"),
    await pool.acquire("mixes", ann, ["/w"], "session-1"),
  ];
  expect(again).toBe(plain);
  expect(back).toBe(one);
  expect(new Set([plain, one, other]).size).toBe(3);
  const honest = await pool.acquire("honest", ann, ["/w"], "session-1");
  expect(await pool.acquire("honest", ann, ["/w"], "session-2")).toBe(honest);
  expect(started).toBe(4);
});
