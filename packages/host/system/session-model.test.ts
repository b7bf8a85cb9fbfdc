import { type Channel, channelPair, type JsonObject, membersOf, Peer } from "@reins/acp";
import { AgentEntry } from "@reins/agents";
import { ManualClock } from "@reins/kit/manual-clock";
import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { Governor } from "../src/governor/governor.ts";
import type { HostedAgent, StartOptions } from "../src/hosting/agent-host.ts";
import type { Connection } from "../src/hub/connection.ts";
import { Hub } from "../src/hub/hub.ts";
import { EventLog } from "../src/log/event-log.ts";
import type { SessionRecord } from "../src/sessions/session-record.ts";
import { sessionTables } from "../src/sessions/tables.ts";
import { openTestHome, type TestHome } from "./fixtures/home.ts";

const entry = AgentEntry.parse({
  id: "puppet",
  name: "An agent in this process",
  support: { level: "supported" },
  start: { with: "file", file: "/bin/true" },
  profile: {},
  tools: "claude-code",
  enforcement: { level: "asked" },
});

/** How a turn in the agent ends. */
type StopReason = "end_turn" | "cancelled";

/** Agents of one test: each turn lasts until the test ends it or the client cancels it. */
class Agents {
  /** The turns that run, by the agent's id of their session. */
  readonly turns = new Map<string, (stopReason: StopReason) => void>();
  /** How many prompts agents got. */
  prompts = 0;
  #sessions = 0;
  #kill: ((reason: Error) => void) | undefined;

  /** A new agent, and what ends it. */
  start(): [Channel, (reason: Error) => void] {
    const [ours, theirs, close] = channelPair();
    this.#kill = close;
    new Peer(ours, {
      request: (method, params) => this.#answer(method, membersOf(params)),
      notification: (method, params) => {
        if (method === "session/cancel") this.end(String(membersOf(params).sessionId), "cancelled");
      },
    });
    return [theirs, close];
  }

  end(session: string, stopReason: StopReason): void {
    this.turns.get(session)?.(stopReason);
    this.turns.delete(session);
  }

  /** Ends the agent that was started last. */
  die(): void {
    this.turns.clear();
    this.#kill?.(new Error("the agent died"));
  }

  async #answer(method: string, { sessionId }: JsonObject): Promise<unknown> {
    if (method === "initialize")
      return {
        protocolVersion: 1,
        agentCapabilities: {
          loadSession: true,
          sessionCapabilities: { fork: {}, resume: {}, close: {} },
        },
      };
    if (method === "session/new" || method === "session/fork") {
      this.#sessions += 1;
      return { sessionId: `agent-${this.#sessions}` };
    }
    if (method !== "session/prompt") return {};
    this.prompts += 1;
    const { promise, resolve } = Promise.withResolvers<JsonObject>();
    this.turns.set(String(sessionId), (stopReason) => resolve({ stopReason }));
    return promise;
  }
}

/** What the test expects of one session. */
interface Expected {
  readonly id: string;
  phase: "idle" | "running" | "parked" | "ended";
  title: string | undefined;
  /** Prompts without a response, the one that runs first. */
  prompts: Promise<string>[];
}

/** A hub over a home that can be restarted, and what is expected of it. */
class World {
  readonly sessions: Expected[] = [];
  readonly agents = new Agents();
  readonly #clock = new ManualClock();
  readonly #home: TestHome;
  #hub!: Hub;
  #clients!: readonly [Connection, Connection];
  #started = 0;
  #interrupted = 0;

  constructor(home: TestHome) {
    this.#home = home;
  }

  async open(): Promise<void> {
    const { harness, home } = this.#home;
    const log = await EventLog.open({ store: harness.store, now: Date.now, journal: home });
    const host = { start: (_: string, options: StartOptions) => this.#start(options) };
    this.#hub = await Hub.open({ harness, host, log, clock: this.#clock, idleMs: 0 });
    const principal = harness.identity.local();
    const outlet = { send: () => undefined, failed: () => undefined };
    const connect = () => this.#hub.connect({ principal, agent: "puppet", outlet });
    this.#clients = [await connect(), await connect()];
  }

  async close(): Promise<void> {
    await this.#hub.interrupt(0);
    await this.#hub.close();
  }

  async new(): Promise<void> {
    const { sessionId } = await this.#ask("session/new", { cwd: this.#home.workspace, mcpServers: [] });
    this.sessions.push({ id: String(sessionId), phase: "idle", title: undefined, prompts: [] });
  }

  /** Starts a turn, or queues a prompt behind one. */
  async prompt(session: Expected): Promise<void> {
    if (session.phase === "ended") return this.#rejects("session/prompt", session, { prompt: [] });
    const prompt = [{ type: "text", text: "go on" }];
    const response = this.#ask("session/prompt", { sessionId: session.id, prompt }).then(
      ({ stopReason }) => String(stopReason),
      (error: Error) => `rejected: ${error.message}`,
    );
    session.prompts.push(response);
    if (session.phase !== "running") await this.#nextTurn(session);
  }

  /** Ends the turn that runs, and waits for the next one in the queue. */
  async finish(session: Expected, stopReason: StopReason): Promise<void> {
    if (session.phase !== "running") return;
    const running = session.prompts.shift();
    const agentId = (await this.#record(session)).agent_session_id;
    if (stopReason === "end_turn") this.agents.end(agentId, stopReason);
    else await this.#clients[1].notification("session/cancel", { sessionId: session.id });
    expect(await running).toBe(stopReason);
    await this.#afterTurn(session, "idle");
  }

  async die(): Promise<void> {
    const lost = this.sessions.filter(({ phase }) => phase === "idle" || phase === "running");
    this.agents.die();
    // Sessions without a turn are parked at once; a queued prompt starts another agent.
    for (const session of lost) await this.#loseAgent(session);
    // An agent that died lately is not started again at once.
    await this.#clock.advanceAndSettle(3_600_000);
    for (const session of lost) if (session.prompts.length > 0) await this.#nextTurn(session);
  }

  async idle(): Promise<void> {
    const isUsed = this.sessions.some(({ phase }) => phase === "running");
    await this.#clock.advanceAndSettle(1_000);
    await this.#hub.reap();
    if (!isUsed) for (const session of this.sessions) if (session.phase === "idle") session.phase = "parked";
  }

  /** Attaches the second client, or the first one anew. */
  async attach(session: Expected, method: "session/load" | "session/resume"): Promise<void> {
    const params = { cwd: this.#home.workspace, mcpServers: [] };
    if (session.phase === "ended") return this.#rejects(method, session, params);
    await this.#ask(method, { ...params, sessionId: session.id }, method === "session/load" ? 1 : 0);
    if (session.phase === "parked") session.phase = "idle";
  }

  async fork(session: Expected): Promise<void> {
    const params = { cwd: this.#home.workspace, mcpServers: [] };
    if (session.phase === "ended" || session.phase === "running")
      return this.#rejects("session/fork", session, params);
    const { sessionId } = await this.#ask("session/fork", { ...params, sessionId: session.id });
    session.phase = "idle";
    this.sessions.push({ id: String(sessionId), phase: "idle", title: undefined, prompts: [] });
  }

  async release(session: Expected): Promise<void> {
    if (session.phase === "ended") return this.#rejects("session/close", session, {});
    await this.#ask("session/close", { sessionId: session.id });
    for (const prompt of session.prompts.splice(0)) expect(await prompt).toBe("cancelled");
    session.phase = "parked";
  }

  async kill(session: Expected): Promise<void> {
    const { identity } = this.#home.harness;
    const isOpen = session.phase !== "ended";
    const isRunning = session.phase === "running";
    expect(await this.#hub.terminate(identity.local(), session.id)).toBe(isOpen);
    const [running, ...queued] = session.prompts.splice(0);
    if (isRunning) expect(await running).toMatch(/cancelled|rejected/);
    for (const prompt of queued) expect(await prompt).toContain("rejected: there is no session");
    session.phase = "ended";
  }

  async reopen(session: Expected): Promise<void> {
    await this.#hub.reopen(this.#home.harness.identity.local(), session.id);
    if (session.phase === "ended") session.phase = "parked";
  }

  async name(session: Expected, title: string): Promise<void> {
    await this.#ask("_sandboxagent/session/set_metadata", { sessionId: session.id, metadata: { title } });
    session.title = title;
  }

  /** Stops in the middle of everything, and starts again over the same store. */
  async restart(): Promise<void> {
    await this.close();
    for (const session of this.sessions) {
      for (const prompt of session.prompts.splice(0)) expect(await prompt).toContain("rejected");
      if (session.phase === "running") this.#interrupted += 1;
      if (session.phase !== "ended") session.phase = "parked";
    }
    this.agents.turns.clear();
    await this.open();
  }

  /** Holds the hub and the store to what is expected. */
  async check(): Promise<void> {
    const { harness } = this.#home;
    const principal = harness.identity.local();
    const listed = await this.#hub.list(principal);
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(this.sessions.map(({ id }) => id)));
    for (const session of this.sessions) {
      const { id, phase, title } = session;
      const record = await this.#record(session);
      const state = { ended: "closed", running: "running", idle: "idle", parked: "idle" }[phase];
      expect({ state: record.state, title: record.title }).toEqual({ state, title });
      expect(record.ended !== undefined).toBe(phase === "ended");
      expect(record.turn_after !== undefined).toBe(phase === "running");
      const live = this.#hub.live(id);
      expect(live?.agent !== undefined).toBe(phase === "idle" || phase === "running");
      if (live) expect(live.phase).toBe(phase);
      // Nothing but the owner's record is in the store.
      const stored = () => harness.store.query(sessionTables, "get", { id, tenant: principal.tenant });
      await vi.waitFor(async () => {
        await this.#hub.list(principal);
        expect(await stored()).toEqual(JSON.parse(JSON.stringify(await this.#record(session))));
      });
    }
    expect(this.agents.prompts).toBe(this.#started);
    const lifecycle = await this.#home.entries("session_lifecycle");
    const interrupted = lifecycle.filter(({ payload }) => membersOf(payload).change === "interrupted");
    expect(interrupted).toHaveLength(this.#interrupted);
  }

  async #start(options: StartOptions): Promise<HostedAgent> {
    const [channel, kill] = this.agents.start();
    const governor: Governor = new Governor({
      harness: this.#home.harness,
      entry,
      launch: { mode: undefined, configOptions: {}, meta: {}, strip: [] },
      channel,
      principal: options.principal,
      enforcement: "asked",
      from: options.from,
      clients: options.clients,
      showReplays: false,
      now: () => this.#clock.now(),
    });
    const initialized = await governor.initialize({ protocolVersion: 1 });
    const stop = async (reason: string) => {
      await governor.close(reason, async () => kill(new Error(reason)));
      return undefined;
    };
    return {
      entry,
      version: "0",
      governor,
      process: undefined,
      initialized,
      resumeMethod: "session/load",
      stop,
    };
  }

  #ask(method: string, params: JsonObject, client = 0): Promise<JsonObject> {
    const connection = this.#clients[client === 1 ? 1 : 0];
    return connection.request(method, params, new AbortController().signal).then(membersOf);
  }

  async #rejects(method: string, { id }: Expected, params: JsonObject): Promise<void> {
    await expect(this.#ask(method, { ...params, sessionId: id })).rejects.toThrow(
      /there is no session|a turn is under way/,
    );
  }

  async #record({ id }: Expected): Promise<SessionRecord> {
    const record = await this.#hub.find(this.#home.harness.identity.local(), id);
    if (!record) throw new Error(`there is no session ${id}`);
    return record;
  }

  /** Waits until the agent has the next prompt of a session. */
  async #nextTurn(session: Expected): Promise<void> {
    this.#started += 1;
    await vi.waitFor(async () => {
      const { agent_session_id } = await this.#record(session);
      expect(this.agents.turns.has(agent_session_id)).toBe(true);
    });
    session.phase = "running";
  }

  async #afterTurn(session: Expected, phase: Expected["phase"]): Promise<void> {
    session.phase = phase;
    if (session.prompts.length > 0) await this.#nextTurn(session);
  }

  async #loseAgent(session: Expected): Promise<void> {
    if (session.phase === "running") expect(await session.prompts.shift()).toContain("rejected");
    session.phase = "parked";
  }
}

const COMMANDS = [
  "new",
  "prompt",
  "prompt",
  "prompt",
  "finish",
  "cancel",
  "die",
  "idle",
  "load",
  "resume",
  "fork",
  "close",
  "kill",
  "reopen",
  "name",
  "restart",
] as const;

/** A command about one of the sessions that there are. */
const command = fc.record({ name: fc.constantFrom(...COMMANDS), which: fc.nat({ max: 3 }) });
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never;

async function run(world: World, { name, which }: Command, step: number): Promise<void> {
  const session = world.sessions[which % Math.max(1, world.sessions.length)];
  if (name === "new" || !session) return world.sessions.length < 4 ? world.new() : undefined;
  switch (name) {
    case "prompt":
      return session.prompts.length < 4 ? world.prompt(session) : undefined;
    case "finish":
      return world.finish(session, "end_turn");
    case "cancel":
      return world.finish(session, "cancelled");
    case "die":
      return world.die();
    case "idle":
      return world.idle();
    case "load":
      return world.attach(session, "session/load");
    case "resume":
      return world.attach(session, "session/resume");
    case "fork":
      return world.sessions.length < 4 ? world.fork(session) : undefined;
    case "close":
      return world.release(session);
    case "kill":
      return world.kill(session);
    case "reopen":
      return world.reopen(session);
    case "name":
      return world.name(session, `title ${step}`);
    case "restart":
      return world.restart();
  }
}

/** `REINS_SEED` runs the same commands again; a failure names the shortest commands that it was found with. */
const SEED = Number(process.env.REINS_SEED ?? Date.now() % 1_000_000);
const RUNS = Number(process.env.REINS_RUNS ?? 5);

test(`sessions are as a simple model has them, whatever happens, across restarts (seed ${SEED})`, async () => {
  console.log(`session-model: seed ${SEED}, ${RUNS} runs`);
  const rules = "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n";
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 10, maxLength: 20 }), async (commands) => {
      const ends: (() => Promise<void>)[] = [];
      const world = new World(await openTestHome({ rules, finished: (end) => void ends.unshift(end) }));
      await world.open();
      ends.unshift(() => world.close());
      try {
        for (const [step, one] of commands.entries()) {
          await run(world, one, step);
          await world.check();
        }
      } finally {
        for (const end of ends) await end();
      }
    }),
    { seed: SEED, numRuns: RUNS, endOnFailure: true },
  );
}, 120_000);
