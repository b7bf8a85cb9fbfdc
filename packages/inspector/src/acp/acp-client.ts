import { readResult } from "@reins/acp";
import { exponentialBackoff } from "@reins/kit/backoff";
import { errorMessage } from "@reins/kit/errors";
import { socketStream } from "@reins/sdk/socket";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { AttachedSession, type AttachedSessionPorts, type SessionView } from "./attached-session.ts";
import { Connection, type ConnectionListener } from "./connection.ts";
import { fetchHistory, type Item } from "./conversation/conversation.ts";
import { Observable, onNextFrame } from "./observable.ts";

/** The state of the connection to the server. */
export type ConnectionState =
  | { readonly state: "closed" | "opening" | "open" }
  | { readonly state: "lost"; readonly retryAt: number; readonly error: unknown };

interface AcpClientPorts extends AttachedSessionPorts {
  readonly open: (listener: ConnectionListener) => Promise<Connection>;
  /** Starts a timer; returns `cancel`. */
  readonly after: (milliseconds: number, run: () => void) => () => void;
  readonly newId: () => string;
  readonly random: () => number;
}

/** At most this many sessions are attached at once; the least recently viewed is detached. */
const MAX_ATTACHED = 8;

const OUTCOMES: Readonly<Record<string, string>> = {
  cancelled: "The turn was cancelled.",
  max_tokens: "The turn ended: the model reached its token limit.",
  max_turn_requests: "The turn ended: it reached the limit of model requests.",
};

/**
 * The page's only connection to the server, shared by all sessions. After a lost connection it reconnects and loads
 * every session again.
 */
export class AcpClient {
  readonly state = new Observable<ConnectionState>({ state: "closed" });
  readonly #ports: AcpClientPorts;
  readonly #sessions = new Map<string, AttachedSession>();
  /** Prompts that can still be cancelled. */
  readonly #prompts = new Map<string, AbortController>();
  #connection: Promise<Connection> | undefined;
  #cancelRetry: () => void = () => undefined;
  #failures = 0;
  /** The number of sessions being created: their updates may arrive before their ids. */
  #creating = 0;

  constructor(ports: AcpClientPorts) {
    this.#ports = ports;
  }

  /** Attaches to a session and loads its history; an ended session is only replayed. */
  attach(id: string, isOver = false): AttachedSession {
    const known = this.#sessions.get(id);
    if (known) {
      // Keeps the order of least recent use.
      this.#sessions.delete(id);
      this.#sessions.set(id, known);
      known.isOver ||= isOver;
      if (known.view.current().phase === "failed") void this.#load(known);
      return known;
    }
    const session = this.#add(id);
    session.isOver = isOver;
    void this.#load(session);
    return session;
  }

  /** Creates a session of an agent in a folder; returns its id. */
  async create(agent: string, cwd: string): Promise<string> {
    return this.#create("session/new", { cwd, mcpServers: [], _meta: { reins: { agent } } });
  }

  /** Forks a session; returns the id of the fork. */
  async fork(from: string, cwd: string, title: string): Promise<string> {
    const sessionId = await this.#create("session/fork", { sessionId: from, cwd, mcpServers: [] });
    const connection = await this.#connected();
    await connection.request("_sandboxagent/session/set_metadata", { sessionId, metadata: { title } });
    return sessionId;
  }

  /** Reads the history of a session up to a position, or all of it, without attaching. */
  async history(sessionId: string, until?: number): Promise<readonly Item[]> {
    const connection = await this.#connected();
    return fetchHistory((params) => connection.request("_reins/session/history", params), sessionId, until);
  }

  /** Sends a prompt. It is queued while earlier turns run. */
  async prompt(sessionId: string, text: string): Promise<void> {
    const session = this.attach(sessionId);
    const id = this.#ports.newId();
    const controller = new AbortController();
    this.#prompts.set(id, controller);
    session.addPrompt(id, text);
    let connection: Connection | undefined;
    try {
      connection = await this.#connected();
      const prompt = [{ type: "text", text }];
      const params = { sessionId, prompt, _meta: { reins: { prompt: id } } };
      const answer = await connection.request("session/prompt", params, controller.signal);
      session.removePrompt(id);
      const outcome = OUTCOMES[readResult("session/prompt", answer).stopReason ?? ""];
      if (outcome !== undefined) session.note("note", outcome);
    } catch (error) {
      // A lost connection says nothing about the prompt; reloading the session shows what happened to it.
      if (!connection || connection.signal.aborted) return;
      session.removePrompt(id);
      if (!controller.signal.aborted) session.note("bad", errorMessage(error));
    } finally {
      this.#prompts.delete(id);
    }
  }

  /** Cancels a queued prompt. */
  cancelPrompt(sessionId: string, prompt: string): void {
    this.#prompts.get(prompt)?.abort();
    this.#sessions.get(sessionId)?.removePrompt(prompt);
  }

  /** Cancels the running turn. */
  async stop(sessionId: string): Promise<void> {
    await (await this.#connected()).notify("session/cancel", { sessionId });
  }

  /** Changes a mode, a model or another setting. */
  async choose(sessionId: string, setting: { readonly id: string; readonly isMode: boolean }, value: string) {
    const connection = await this.#connected();
    const answer = setting.isMode
      ? await connection.request("session/set_mode", { sessionId, modeId: value })
      : await connection.request("session/set_config_option", { sessionId, configId: setting.id, value });
    const session = this.#sessions.get(sessionId);
    if (setting.isMode) session?.receive({ sessionUpdate: "current_mode_update", currentModeId: value });
    else session?.chosen(answer);
  }

  /** Ends a session permanently. */
  async terminate(sessionId: string): Promise<void> {
    await (await this.#connected()).request("_sandboxagent/session/terminate", { sessionId });
    this.#sessions.get(sessionId)?.end();
  }

  /** Reconnects now instead of at the next retry. */
  retry(): void {
    this.#cancelRetry();
    // The connection state reports a failure.
    this.#connected().catch(() => undefined);
  }

  async #create(method: string, params: unknown): Promise<string> {
    const connection = await this.#connected();
    this.#creating += 1;
    try {
      const answer = await connection.request(method, params);
      const { sessionId } = readResult("session/new", answer);
      if (sessionId === undefined) throw new Error("The server's response has no session id.");
      (this.#sessions.get(sessionId) ?? this.#add(sessionId)).created(answer);
      return sessionId;
    } finally {
      this.#creating -= 1;
    }
  }

  #add(id: string): AttachedSession {
    const session = new AttachedSession(id, this.#ports);
    this.#sessions.set(id, session);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MAX_ATTACHED && oldest !== undefined) this.#detach(oldest);
    return session;
  }

  #detach(sessionId: string): void {
    this.#sessions.delete(sessionId);
    this.#connection
      ?.then((connection) => connection.request("_sandboxagent/session/detach", { sessionId }))
      .catch(() => undefined);
  }

  async #load(session: AttachedSession): Promise<void> {
    session.startReplay();
    let connection: Connection | undefined;
    try {
      connection = await this.#connected();
      const method = session.isOver ? "_reins/session/replay" : "session/load";
      const answer = await connection.request(method, { sessionId: session.id });
      session.finishReplay(answer, (prompt) => this.#prompts.has(prompt));
    } catch (error) {
      // After a lost connection the session is loaded with the next one.
      if (connection && !connection.signal.aborted) session.failed(error);
    }
  }

  #connected(): Promise<Connection> {
    this.#connection ??= this.#open();
    return this.#connection;
  }

  async #open(): Promise<Connection> {
    this.#cancelRetry();
    if (this.state.current().state !== "lost") this.state.set({ state: "opening" });
    try {
      const connection = await this.#ports.open(this.#listener);
      connection.signal.throwIfAborted();
      this.#failures = 0;
      this.state.set({ state: "open" });
      connection.signal.addEventListener("abort", () => this.#lost(connection.signal.reason), { once: true });
      for (const session of this.#sessions.values())
        if (session.view.current().phase === "cut") void this.#load(session);
      return connection;
    } catch (error) {
      this.#lost(error);
      throw error;
    }
  }

  #lost(error: unknown): void {
    this.#connection = undefined;
    this.#failures += 1;
    const wait = retryDelay(this.#failures, this.#ports.random);
    this.state.set({ state: "lost", retryAt: this.#ports.now() + wait, error });
    for (const session of this.#sessions.values()) session.cut();
    this.#cancelRetry();
    this.#cancelRetry = this.#ports.after(wait, () => this.retry());
  }

  readonly #listener: ConnectionListener = {
    onUpdate: (session, update) => {
      const known = this.#sessions.get(session);
      if (known) known.receive(update);
      else if (this.#creating > 0) this.#add(session).receive(update);
    },
    onQuestion: (session, question) => this.#sessions.get(session)?.addQuestion(question),
    onCancelled: (session, id) => this.#sessions.get(session)?.removeQuestion(id),
    onGap: (session) =>
      this.#sessions.get(session)?.note("warn", "Some earlier messages are no longer kept."),
    onEnded: (session) => this.#sessions.get(session)?.end(),
    onTurn: (session, state) => this.#sessions.get(session)?.turn(state),
  };
}

const RETRY = { firstMs: 250, mostMs: 10_000 };

/** The pause before the next retry: doubles with each failure, jittered so that many pages do not reconnect at once. */
export function retryDelay(failures: number, random: () => number): number {
  return exponentialBackoff(RETRY, failures, random());
}

/** The client of this page. It connects on first use, by a WebSocket: a page in many tabs has few connections besides. */
export const acpClient = new AcpClient({
  open: async (listener) => Connection.open(socketStream(window.location.origin), listener),
  schedule: onNextFrame,
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
  newId: () => crypto.randomUUID(),
  random: Math.random,
});

/** A session, attached while a component shows it; an ended one is only replayed. */
export function useSession(id: string, isOver: boolean): SessionView {
  const session = useMemo(() => acpClient.attach(id, isOver), [id, isOver]);
  return useSyncExternalStore(session.view.subscribe, session.view.current);
}

/** The state of the connection to the server. */
export function useConnectionState(): ConnectionState {
  useEffect(() => {
    const retry = () => acpClient.state.current().state === "lost" && acpClient.retry();
    window.addEventListener("online", retry);
    return () => window.removeEventListener("online", retry);
  }, []);
  return useSyncExternalStore(acpClient.state.subscribe, acpClient.state.current);
}
