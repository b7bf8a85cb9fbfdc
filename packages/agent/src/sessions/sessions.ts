import { CODE, type JsonObject, type Peer, RpcError } from "@reins/acp";
import { HostTools } from "@reins/bridge";
import { type Clock, KeyedQueue } from "@reins/kit";
import type { AgentDependencies, ControlPort } from "../agent-dependencies.ts";
import { compact, isHalfFull } from "../compaction/compact.ts";
import type { UserPart } from "../history/entry.ts";
import type { SessionHeader, StoredSession } from "../history/session-store.ts";
import { type ToolView, toolView } from "../tools/tool.ts";
import { Turn } from "../turn/turn.ts";
import { promptSession, settingFor, type TurnContext } from "./prompt-session.ts";
import { type ConversationRewind, Session } from "./session.ts";
import type { ClientCapabilities } from "./updates.ts";

type Folders = Pick<SessionHeader, "cwd" | "additionalDirectories">;

/** The open sessions of this process, each with at most one turn at a time. */
export class Sessions {
  readonly #dependencies: AgentDependencies;
  readonly #context: TurnContext;
  readonly #sessions = new Map<string, Session>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #heartbeat: Heartbeat;
  readonly #idleWork: IdleWork;

  constructor(dependencies: AgentDependencies, rpc: Peer, capabilities: () => ClientCapabilities) {
    const { control, clock, limits, onFault } = dependencies;
    this.#dependencies = dependencies;
    const { bridge } = dependencies.services;
    const hostTools = bridge && new HostTools(bridge, clock);
    this.#context = { dependencies, rpc, queue: new KeyedQueue(), hostTools, capabilities };
    this.#heartbeat = new Heartbeat(control, clock);
    this.#idleWork = new IdleWork({ delayMs: limits.idleMs, now: () => clock.now(), onFault });
  }

  async create(folders: Folders): Promise<Session> {
    const { models } = this.#dependencies;
    return this.#open({ ...folders, model: models.defaultId, mode: "default", thoughtLevel: "default" }, []);
  }

  /** Resumes a stored session, in other folders if given. */
  async resume(id: string, folders: Partial<Folders>): Promise<Session> {
    const open = this.#sessions.get(id);
    if (open?.turn) throw new RpcError(CODE.invalidRequest, "a turn is under way in this session");
    const session = open ?? new Session(this.#dependencies.store, await this.#load(id));
    await session.enter(folders);
    this.#sessions.set(id, session);
    return session;
  }

  /** Creates a session with the history of another. */
  async fork(id: string, folders: Partial<Folders>): Promise<Session> {
    const { header, entries } = await this.#load(id);
    return this.#open({ ...header, ...folders }, entries);
  }

  /** Takes the conversation of an open session back; returns whether there was the turn that was named. */
  async rewind(id: string, rewind: ConversationRewind): Promise<boolean> {
    const session = this.expect(id);
    if (session.turn) throw new RpcError(CODE.invalidRequest, "a turn is under way in this session");
    await this.#cancelBackground(session);
    return session.rewind(rewind);
  }

  /** Returns an open session or throws. */
  expect(id: string): Session {
    const session = this.#sessions.get(id);
    if (session) return session;
    throw new RpcError(CODE.notFound, `there is no session ${JSON.stringify(id)} here; load it first`);
  }

  /** Describes the tools that an open session may use now; `undefined` for a session that is not open. */
  async tools(id: string, signal: AbortSignal): Promise<ToolView | undefined> {
    const session = this.#sessions.get(id);
    if (!session) return undefined;
    return toolView(await settingFor(this.#context, session, signal), this.#dependencies.toolSearch);
  }

  /** Runs one turn and returns the result of its prompt. Cancelling the request cancels the turn. */
  async prompt(session: Session, prompt: readonly UserPart[], signal: AbortSignal): Promise<JsonObject> {
    if (session.turn) throw new RpcError(CODE.invalidRequest, "a turn is under way in this session");
    const turn = new AbortController();
    const { promise: turnOver, resolve: end } = Promise.withResolvers<void>();
    session.turn = turn;
    session.turnOver = turnOver;
    const cancel = () => turn.abort(new Error("the prompt was cancelled"));
    signal.addEventListener("abort", cancel, { once: true });
    const endHeartbeat = this.#heartbeat.begin();
    try {
      await this.#cancelBackground(session);
      return await this.#track(promptSession(this.#context, session, prompt, turn.signal));
    } finally {
      endHeartbeat();
      this.#heartbeat.count();
      signal.removeEventListener("abort", cancel);
      session.turn = undefined;
      session.steering.leave();
      end();
      this.#scheduleIdleWork(session);
    }
  }

  /** Sends a prompt into the turn of a session, until the signal withdraws it; resolves with whether the turn took it. */
  async steer(
    { turn, steering }: Session,
    prompt: readonly UserPart[],
    signal: AbortSignal,
  ): Promise<boolean> {
    return turn !== undefined && !turn.signal.aborted && steering.offer(prompt, signal);
  }

  /** Cancels the turn of a session. */
  cancel(id: string): void {
    this.#sessions.get(id)?.turn?.abort(new Error("the turn was cancelled"));
  }

  /** Cancels every turn. */
  cancelAll(): void {
    for (const session of this.#sessions.values()) {
      session.turn?.abort(new Error("the agent is closing"));
      session.background?.controller.abort(new Error("the agent is closing"));
      this.#idleWork.cancel(session.id);
    }
  }

  /** Settles when no turn is in progress, all MCP servers and commands are ended and nothing is held in the store. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
    await Promise.allSettled(
      [...this.#sessions.values()].flatMap(({ servers, commands }) => [servers.close(), commands.close()]),
    );
    for (const id of this.#sessions.keys()) this.#dependencies.store.release?.(id);
  }

  /** Closes a session, if it is open, and cancels its turn first. It stays in the store. */
  async close(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#sessions.delete(id);
    session.turn?.abort(new Error("the session was closed"));
    await session.turnOver;
    await this.#cancelBackground(session);
    session.skills?.close();
    await session.commands.close();
    await session.servers.close();
    this.#dependencies.store.release?.(id);
    this.#context.hostTools?.forget(id);
  }

  async #open(
    header: Omit<SessionHeader, "id" | "createdAt" | "updatedAt">,
    entries: StoredSession["entries"],
  ): Promise<Session> {
    const { store, newId, clock } = this.#dependencies;
    const now = clock.now().toISOString();
    const made = { ...header, id: `session_${newId()}`, createdAt: now, updatedAt: now };
    await store.append(made, entries);
    const session = new Session(store, { header: made, entries });
    await session.roots.find();
    this.#sessions.set(session.id, session);
    return session;
  }

  async #load(id: string): Promise<StoredSession> {
    const stored = await this.#dependencies.store.read(id);
    if (stored) return stored;
    throw new RpcError(CODE.notFound, `there is no session ${JSON.stringify(id)}`);
  }

  #track<Result>(running: Promise<Result>): Promise<Result> {
    this.#running.add(running);
    const forget = () => void this.#running.delete(running);
    running.then(forget, forget);
    return running;
  }

  async #cancelBackground(session: Session): Promise<void> {
    this.#idleWork.cancel(session.id);
    session.background?.controller.abort(new Error("the session is active again"));
    await session.background?.done;
  }

  /** Schedules compaction for an idle session with a long history. */
  #scheduleIdleWork(session: Session): void {
    const { info } = this.#dependencies.models.open(session.header.model);
    // The runtime keeps the transcript short.
    if (session.header.mode === "protocol") return;
    if (this.#isOpen(session) && isHalfFull(session.entries, info))
      this.#idleWork.schedule(session.id, (idleMs) => this.#compactIdle(session, idleMs));
  }

  #isOpen(session: Session): boolean {
    return this.#sessions.get(session.id) === session && !this.#context.rpc.signal.aborted;
  }

  /** Compacts a long conversation while the session is idle, if the supervisor allows it. */
  async #compactIdle(session: Session, idleMs: number): Promise<void> {
    if (session.turn) return;
    const controller = new AbortController();
    const turn = new Turn(await settingFor(this.#context, session, controller.signal), [], controller.signal);
    const decision = await turn.ask("idle", {
      idle_duration_ms: idleMs,
      idle_reason: "no turn is under way",
      suggested_action: "compact the conversation",
    });
    if (decision.decision !== "allow" || session.turn || !this.#isOpen(session)) return;
    const done = this.#track(compact(turn)).then(
      () => undefined,
      (error: unknown) => {
        if (!controller.signal.aborted) this.#dependencies.onFault(error);
      },
    );
    session.background = { controller, done };
    await done;
    session.background = undefined;
  }
}

const INTERVAL_MS = 30_000;

/** Reports a heartbeat while any turn runs, with one timer for all of them. */
export class Heartbeat {
  readonly #control: Pick<ControlPort, "report">;
  readonly #clock: Pick<Clock, "now">;
  readonly #intervalMs: number;
  readonly #began: number;
  #running = 0;
  #events = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(control: Pick<ControlPort, "report">, clock: Pick<Clock, "now">, intervalMs = INTERVAL_MS) {
    this.#control = control;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#began = clock.now().getTime();
  }

  /** Counts an event. */
  count(): void {
    this.#events += 1;
  }

  /** Counts a turn; the result ends it. */
  begin(): () => void {
    this.#running += 1;
    this.#timer ??= setInterval(() => this.#beat(), this.#intervalMs).unref();
    return () => {
      this.#running -= 1;
      if (this.#running > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #beat(): void {
    this.#control.report("heartbeat", {
      uptime_ms: this.#clock.now().getTime() - this.#began,
      total_events_processed: this.#events,
      current_state: "running",
      memory_bytes: process.memoryUsage.rss(),
      pending_actions: this.#running,
    });
  }
}

interface Waiting {
  readonly since: number;
  readonly run: (idleMs: number) => Promise<void>;
}

export interface IdleWorkOptions {
  /** The shortest idle time of a session before its work runs. */
  readonly delayMs: number;
  readonly now: () => Date;
  readonly onFault: (fault: unknown) => void;
}

/** Runs work for sessions that have been idle for a while, with one timer for all of them. */
export class IdleWork {
  readonly #options: IdleWorkOptions;
  readonly #waiting = new Map<string, Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;

  constructor(options: IdleWorkOptions) {
    this.#options = options;
  }

  /** Schedules work for an idle session; replaces what was scheduled before. */
  schedule(sessionId: string, run: Waiting["run"]): void {
    this.#waiting.set(sessionId, { since: this.#options.now().getTime(), run });
    this.#arm();
  }

  /** Cancels the work of a session that is active again or closed. */
  cancel(sessionId: string): void {
    this.#waiting.delete(sessionId);
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Work that is scheduled while other work runs waits for its end. */
  #arm(): void {
    if (this.#isRunning || this.#waiting.size === 0) return;
    this.#timer ??= setTimeout(() => void this.#runDue(), this.#options.delayMs).unref();
  }

  /** Runs work one by one, to leave room for turns. */
  async #runDue(): Promise<void> {
    this.#isRunning = true;
    const now = this.#options.now().getTime();
    for (const [sessionId, { since, run }] of [...this.#waiting]) {
      if (now - since < this.#options.delayMs || !this.#waiting.delete(sessionId)) continue;
      await run(now - since).catch(this.#options.onFault);
    }
    this.#isRunning = false;
    this.#timer = undefined;
    this.#arm();
  }
}
