import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Principal } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import type { Haak } from "../src/gateway/haak.ts";
import { type NumberedEvent, parseParams, RunParams } from "../src/gateway/protocol.ts";
import { openRunner, textIn } from "./fixtures/haak.ts";
import { ShiftedClock } from "./fixtures/shifted-clock.ts";

const MINUTE = 60_000;

async function begun(options: Parameters<typeof openRunner>[0] = {}) {
  const clock = new ShiftedClock();
  const runner = await openRunner({ clock, ...options });
  const state = (key: string) => runner.haak.status(runner.local, key);
  const reason = async (key: string) => {
    const record = await runner.views.find(runner.local, key);
    return record && (await runner.views.row(record)).close_reason;
  };
  return { ...runner, clock, state, reason };
}

describe("an unused session", () => {
  test("is evicted after its TTL and stays on disk; a recently used or persistent one stays open", async () => {
    const { haak, local, clock, state, reason, run, runner } = await begun();
    const { session_key: domain } = await haak.init(local, { agent_id: "coder" });
    const { session_key: kept } = await haak.init(local, { agent_id: "coder", mode: "persistent" });
    await run(domain, { message: "say one" });
    clock.advance(29 * MINUTE);
    // The check that this began is over, so that the next one is due in time.
    await runner.eviction.check();
    expect(await state(domain)).toBe("idle");
    clock.advance(2 * MINUTE);
    await expect.poll(() => state(domain)).toBe("closed");
    expect(await reason(domain)).toBe("idle_evicted");
    expect(await state(kept)).toBe("idle");
    await haak.init(local, { agent_id: "coder", session_key: domain });
    expect(textIn(await run(domain, { message: "say two" }))).toBe("two");
  });

  test("stays open for the configured TTL", async () => {
    const { haak, local, state, clock, runner } = await begun({ ttlMs: 120 * MINUTE });
    const { session_key } = await haak.init(local, { agent_id: "coder" });
    clock.advance(31 * MINUTE);
    await runner.eviction.check();
    expect(await state(session_key)).toBe("idle");
    clock.advance(90 * MINUTE);
    await expect.poll(() => state(session_key)).toBe("closed");
  });

  test("counts as used after session.init", async () => {
    const { haak, local, views } = await begun();
    const { session_key } = await haak.init(local, { agent_id: "coder" });
    const used = async () => (await views.find(local, session_key))?.last_activity ?? "";
    const before = await used();
    await expect.poll(() => new Date().toISOString() > before).toBe(true);
    await haak.init(local, { agent_id: "coder", session_key });
    expect((await used()) > before).toBe(true);
  });

  test("is not evicted while turns wait", async () => {
    const { haak, local, state, clock, runner, run } = await begun();
    const { session_key, session_id } = await haak.init(local, { agent_id: "coder" });
    const long = run(session_key, { message: "wait" });
    await expect.poll(() => state(session_key)).toBe("running");
    const next = run(session_key, { message: "say next" });
    await expect.poll(() => haak.sessions.used(session_id)?.turns.size).toBe(2);
    clock.advance(31 * MINUTE);
    await expect.poll(() => runner.eviction.isMarked(session_id)).toBe(true);
    await haak.cancel(local, session_key);
    await long;
    expect(textIn(await next)).toBe("next");
    await expect.poll(() => state(session_key)).toBe("closed");
  });

  test("is evicted after its running turn, not during it", async () => {
    const { haak, local, state, reason, clock, runner, run } = await begun();
    const { session_key, session_id } = await haak.init(local, { agent_id: "coder" });
    const turn = run(session_key, { message: "say begun\nwait" });
    await expect.poll(() => state(session_key)).toBe("running");
    clock.advance(31 * MINUTE);
    await expect.poll(() => runner.eviction.isMarked(session_id)).toBe(true);
    expect(await state(session_key)).toBe("running");
    await haak.cancel(local, session_key);
    expect((await turn).at(-1)).toMatchObject({ type: "done" });
    await expect.poll(() => state(session_key)).toBe("closed");
    expect(await reason(session_key)).toBe("idle_evicted");
  });

  test("stays open if its agent is standing", async () => {
    const { haak, local, state, clock, runner } = await begun();
    const { session_key } = await haak.init(local, { agent_id: "reed" });
    clock.advance(31 * MINUTE);
    await runner.eviction.check();
    expect(await state(session_key)).toBe("idle");
  });
});

/** Begins a turn that waits. Its agent has the prompt, so that the turn takes no more mail. */
async function busyTurn(haak: Haak, principal: Principal, session_key: string) {
  const events: NumberedEvent[] = [];
  const params = parseParams(RunParams, "turn.run", { session_key, message: "say busy\nwait" });
  const turn = haak.run(principal, params, (event) => void events.push(event));
  await expect.poll(() => textIn(events)).toBe("busy");
  return { turn };
}

describe("standing agents", () => {
  const letter = { id: "m1", from: "coder", to: "reed", subject: "rain", body: "it comes tonight" };

  test("have their sessions at the start if they are preloaded", async () => {
    const { haak, local, views } = await begun({ preloadStanding: true });
    expect(await haak.status(local, "reed:cli:local")).toBe("idle");
    for (const key of ["coder:cli:local", "ghost:cli:local"])
      await expect(haak.status(local, key)).rejects.toMatchObject({ code: "session_not_found" });
    const rows = await views.sessions(local, { limit: 10 });
    expect(rows).toEqual([
      expect.objectContaining({ agent_id: "reed", mode: "persistent", session_key: "reed:cli:local" }),
    ]);
  });

  test("are woken by the heartbeat if they are idle and have mail; the turn takes the mail once", async () => {
    const { local, views, clock, home } = await begun({ preloadStanding: true, heartbeatMs: 300_000 });
    const path = join(home.home, "agent-mailbox.jsonl");
    const turns = async () => {
      const record = await views.find(local, "reed:cli:local");
      return record ? views.turns(record, { limit: 10 }) : [];
    };
    clock.advance(300_000);
    await appendFile(path, `${JSON.stringify(letter)}\n`);
    clock.advance(300_000);
    await expect.poll(turns).toHaveLength(1);
    const record = await views.find(local, "reed:cli:local");
    const history = record ? await views.history(record, { limit: 10 }) : [];
    expect(history[0]?.content).toContain("You have 1 unread mailbox message(s).");
    expect(await home.entries("mailbox_inject")).toHaveLength(1);
    expect(await readFile(path, "utf8")).not.toContain('"read":true');
    clock.advance(300_000);
    clock.advance(300_000);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await turns()).toHaveLength(1);
  });

  test("are woken in another persistent session if the standing one is busy or missing", async () => {
    const { haak, local, runner, home, views } = await begun({ preloadStanding: true });
    const session_key = "reed:ws:second";
    await haak.init(local, { agent_id: "reed", session_key, mode: "persistent" });
    const { turn } = await busyTurn(haak, local, "reed:cli:local");
    await appendFile(join(home.home, "agent-mailbox.jsonl"), `${JSON.stringify(letter)}\n`);
    await runner.heartbeat();
    const second = await views.find(local, session_key);
    await expect.poll(async () => (second ? views.turns(second, { limit: 10 }) : [])).toHaveLength(1);
    await haak.cancel(local, "reed:cli:local");
    await turn;
  });

  test("are not woken while they are busy, and their mail stays unread", async () => {
    const { haak, local, runner, home } = await begun({ preloadStanding: true });
    const { turn } = await busyTurn(haak, local, "reed:cli:local");
    await appendFile(join(home.home, "agent-mailbox.jsonl"), `${JSON.stringify(letter)}\n`);
    await runner.heartbeat();
    expect(await home.entries("mailbox_inject")).toEqual([]);
    await haak.cancel(local, "reed:cli:local");
    await turn;
  });
});

describe("the history of a session", () => {
  test("has its messages, each with its turn", async () => {
    const { haak, local, run, views } = await begun();
    const { session_key } = await haak.init(local, { agent_id: "coder" });
    await run(session_key, { message: "say one\nrun ls" });
    await run(session_key, { message: "say two" });
    const record = await views.find(local, session_key);
    if (!record) throw new Error("the session is gone");
    const [first, second] = await views.turns(record, { limit: 10 });
    const history = await views.history(record, { limit: 100 });
    expect(history.map(({ seq, role, turn_id }) => [seq, role, turn_id])).toEqual([
      [0, "user", first?.id],
      [1, "assistant", first?.id],
      [2, "user", first?.id],
      [3, "user", second?.id],
      [4, "assistant", second?.id],
    ]);
    const parts: { type: string; text?: string }[] = JSON.parse(String(history[1]?.content));
    expect(parts.map(({ text = "" }) => text).join("")).toBe("oneyes");
    expect(parts.filter(({ type }) => type !== "text")).toEqual([
      { type: "tool_use", id: expect.any(String), name: expect.any(String), input: expect.anything() },
    ]);
    expect(JSON.parse(String(history[2]?.content))).toMatchObject([{ type: "tool_result", is_error: false }]);
    expect(history.at(-1)?.content).toBe('[{"text":"two","type":"text"}]');
    expect(await views.history(record, { after: history.length - 2, limit: 5 })).toEqual(history.slice(-1));
    const entries = await views.ledger(record, { limit: 100 });
    expect(new Set(entries.map(({ entry }) => entry.quality))).toEqual(
      new Set(["policy_verdict", "session_lifecycle", "tool_call", "tool_result", "turn"]),
    );
  });

  test("is found by key and by id, by principals that may see it", async () => {
    const { haak, local, views, home } = await begun();
    const { session_key, session_id } = await haak.init(local, { agent_id: "coder", session_key: "a:b:c" });
    expect((await views.find(local, session_key))?.id).toBe(session_id);
    expect((await views.find(local, session_id))?.key).toBe("a:b:c");
    expect(await views.find(local, "nothing")).toBeUndefined();
    const { identity } = home.harness;
    await identity.addUser({ id: "eve", name: "Eve", email: "some@example.com", roles: [], scopes: [] });
    const { secret } = await identity.createToken({ user: "eve" });
    const eve = await identity.authenticate(secret);
    if (!eve) throw new Error("not known");
    expect(await views.find(eve, session_id)).toBeUndefined();
    expect(await views.sessions(eve, { limit: 5 })).toEqual([]);
    expect(await views.sessions(local, { limit: 5, state: "closed" })).toEqual([]);
    await haak.close(local, session_key, "enough");
    expect(await views.sessions(local, { limit: 5, state: "closed" })).toMatchObject([
      { id: session_id, close_reason: "enough" },
    ]);
  });
});
