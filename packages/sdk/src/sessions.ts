import type { McpServer } from "@agentclientprotocol/sdk";
import { type JsonObject, membersOf, readResult, SANDBOX, updateIn } from "@reins/acp";
import {
  type RewindReport,
  type RewindTurns,
  type Session as SessionRecord,
  sessionOperations,
} from "@reins/api";
import { raceAbort } from "@reins/kit/async";
import { AcpConnection, type AcpOptions } from "./acp-connection.ts";
import { ConnectionError } from "./errors.ts";
import { EventQueue } from "./event-queue.ts";
import { type Abortable, allOf, type Http } from "./http.ts";
import { type ConversationEvent, eventOf } from "./session-events.ts";
import { type PromptContent, Turn, type TurnResult } from "./turn.ts";

/** What a new session is. */
export interface NewSession extends Abortable {
  /** The agent's id in the catalogue; the native agent by default. */
  readonly agent?: string | undefined;
  /** The folder in which it works, on the server's machine; by default the caller's workspace there. */
  readonly cwd?: string | undefined;
  readonly additionalDirectories?: readonly string[] | undefined;
  readonly mcpServers?: readonly McpServer[] | undefined;
  /** `domain` ends when it is idle, `oneshot` with its first turn. */
  readonly mode?: "persistent" | "domain" | "oneshot" | undefined;
}

/** Which sessions to list. */
export interface SessionListQuery extends Abortable {
  readonly agent?: string | undefined;
  readonly cwd?: string | undefined;
  readonly state?: SessionRecord["state"] | undefined;
}

/** How a session goes back. */
export interface RewindOptions extends Abortable {
  /** Restores the files; by default it does. */
  readonly files?: boolean | undefined;
  /** Takes the conversation back; by default where Reins holds it. */
  readonly conversation?: boolean | undefined;
  /** Shows what it would do, and does nothing. */
  readonly dryRun?: boolean | undefined;
  /** Replaces what was changed otherwise, and restores what it can where not everything can be. */
  readonly force?: boolean | undefined;
}

/** The sessions of a client. Its connection opens with the first use and is replaced when it is lost. */
export class Sessions {
  readonly #url: string | URL;
  readonly #http: Http;
  readonly #options: AcpOptions;
  readonly #workspace: string | undefined;
  #connection: Promise<AcpConnection> | undefined;
  /** The connection, once it is open. */
  #current: AcpConnection | undefined;
  /** Ends the opening of a connection. */
  #opening = new AbortController();

  constructor(url: string | URL, http: Http, options: AcpOptions, workspace: string | undefined) {
    this.#url = url;
    this.#http = http;
    this.#options = options;
    this.#workspace = workspace;
  }

  /** Creates a session with an agent; the agent is installed if it is not. */
  async create(given: NewSession = {}): Promise<Session> {
    const { agent = "native", cwd = this.#workspace, mode, signal } = given;
    if (cwd === undefined) throw new TypeError("You have no workspace; name a folder in cwd.");
    const params = {
      cwd,
      mcpServers: given.mcpServers ?? [],
      ...(given.additionalDirectories && { additionalDirectories: given.additionalDirectories }),
      _meta: { [SANDBOX]: { agent }, ...(mode && { reins: { mode } }) },
    };
    return this.#open("session/new", params, signal);
  }

  /** Lists sessions, the most recently used first. */
  list({ signal, ...query }: SessionListQuery = {}): AsyncGenerator<SessionRecord> {
    return allOf(async (after: string | undefined) => {
      const page = await this.#http.call(sessionOperations.listSessions, {
        query: { ...query, after },
        signal,
      });
      return { items: page.sessions, next: page.next };
    });
  }

  /** Returns the stored data of a session. */
  get(id: string, { signal }: Abortable = {}): Promise<SessionRecord> {
    return this.#http.call(sessionOperations.getSession, { params: { id }, signal });
  }

  /** Subscribes to new and changed sessions, until the signal. Changes during a lost connection are not sent again. */
  follow({ signal }: Abortable = {}): AsyncGenerator<SessionRecord> {
    return this.#http.follow(sessionOperations.streamSessions, { signal });
  }

  /** Resumes a session, in whichever process and by whichever client it was created. */
  async resume(id: string, { signal }: Abortable = {}): Promise<Session> {
    const connection = await this.connected({ signal });
    await connection.request("session/resume", { sessionId: id }, signal);
    return new Session(id, this, connection);
  }

  /** Creates a session that continues another; both go on by themselves. */
  async fork(id: string, { signal }: Abortable = {}): Promise<Session> {
    const { cwd } = await this.get(id, { signal });
    return this.#open("session/fork", { sessionId: id, cwd, mcpServers: [] }, signal);
  }

  /** Lists the turns that a session can go back to before, and the rewinds that it made. */
  async turns(id: string, { signal }: Abortable = {}): Promise<RewindTurns> {
    const { rewindOperations } = await import("./run-operations.ts");
    return this.#http.call(rewindOperations.listTurns, { params: { id }, signal });
  }

  /** Takes a session back to before a turn, also one that no agent has open. To go to before a rewind undoes it. */
  async rewind(
    id: string,
    turn: string,
    { signal, dryRun: dry_run, ...options }: RewindOptions = {},
  ): Promise<RewindReport> {
    const { rewindOperations } = await import("./run-operations.ts");
    const body = { turn, dry_run, ...options };
    return this.#http.call(rewindOperations.rewindSession, { params: { id }, body, signal });
  }

  /** The current connection; opens one if there is none, once for all that ask meanwhile. */
  connected({ signal }: Abortable = {}): Promise<AcpConnection> {
    if (this.#current?.isClosed) {
      this.#current = undefined;
      this.#connection = undefined;
    }
    this.#connection ??= this.#connect();
    return signal ? raceAbort(this.#connection, signal) : this.#connection;
  }

  /** Closes the connection. Sessions and turns go on. */
  async close(): Promise<void> {
    // A server that does not respond is not waited for.
    this.#opening.abort(new ConnectionError("closed", "The connection was closed."));
    (await this.#connection?.catch(() => undefined))?.close();
  }

  async #connect(): Promise<AcpConnection> {
    this.#opening = new AbortController();
    try {
      this.#current = await AcpConnection.open(this.#url, this.#options, this.#opening.signal);
      return this.#current;
    } catch (error) {
      this.#connection = undefined;
      throw error;
    }
  }

  async #open(method: string, params: JsonObject, signal: AbortSignal | undefined): Promise<Session> {
    const connection = await this.connected({ signal });
    const { sessionId } = readResult("session/new", await connection.request(method, params, signal));
    if (sessionId === undefined) throw new ConnectionError("incompatible", "The response names no session.");
    return new Session(sessionId, this, connection);
  }
}

/** A conversation with one agent in one folder. */
export class Session {
  readonly id: string;
  readonly #sessions: Sessions;
  /** The connection that follows it. */
  #connection: AcpConnection;

  constructor(id: string, sessions: Sessions, connection: AcpConnection) {
    this.id = id;
    this.#sessions = sessions;
    this.#connection = connection;
  }

  /** Prompts the agent. The result is a turn whose events are read with `for await`; up to eight wait in a queue. */
  prompt(prompt: PromptContent, options: Abortable = {}): Turn {
    return new Turn(this, prompt, options);
  }

  /**
   * Sends a message into the running turn, which the native agent reads with its next step. Where no turn takes it, it is
   * a prompt that waits for its own. Resolves when the turn that has it is over.
   */
  steer(prompt: PromptContent, options: Abortable = {}): Promise<TurnResult> {
    return new Turn(this, prompt, options, true).result();
  }

  /** Cancels the running turn, of any client. */
  async cancel({ signal }: Abortable = {}): Promise<void> {
    const sent = (await this.attached({ signal })).notify("session/cancel", { sessionId: this.id });
    await (signal ? raceAbort(sent, signal) : sent);
  }

  /** Lists the turns that it can go back to before, and the rewinds that it made. */
  turns(options: Abortable = {}): Promise<RewindTurns> {
    return this.#sessions.turns(this.id, options);
  }

  /** Takes it back to before a turn: the files that Reins wrote, and the conversation where Reins holds it. */
  rewind(turn: string, options: RewindOptions = {}): Promise<RewindReport> {
    return this.#sessions.rewind(this.id, turn, options);
  }

  /** Creates a session that continues this one. */
  fork(options: Abortable = {}): Promise<Session> {
    return this.#sessions.fork(this.id, options);
  }

  /** Subscribes to the events of all turns, of all clients, from now until the signal. */
  async *events({ signal }: Abortable = {}): AsyncGenerator<ConversationEvent> {
    const connection = await this.attached({ signal });
    const queue = new EventQueue<ConversationEvent>();
    const unsubscribe = connection.subscribe(this.id, (event) => queue.push(event));
    const forget = connection.onClosed((reason) => queue.end(reason));
    const end = () => queue.end();
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted) end();
    try {
      yield* queue;
    } finally {
      signal?.removeEventListener("abort", end);
      forget();
      unsubscribe();
    }
  }

  /** Reads the events of the past, the oldest first. */
  async *history({ signal }: Abortable = {}): AsyncGenerator<ConversationEvent> {
    const updates = allOf(async (after = 0) => {
      const { updates, next } = membersOf(await this.#request("_reins/session/history", { after }, signal));
      const items: readonly unknown[] = Array.isArray(updates) ? updates : [];
      return { items, next: typeof next === "number" ? next : undefined };
    });
    for await (const one of updates) {
      const { kind, update } = updateIn({ update: one });
      if (kind !== undefined) yield eventOf(kind, update);
    }
  }

  /** Changes the mode. */
  async setMode(modeId: string, { signal }: Abortable = {}): Promise<void> {
    await this.#request("session/set_mode", { modeId }, signal);
  }

  /** Changes the model of an agent that lists its models apart from other settings. */
  async setModel(modelId: string, { signal }: Abortable = {}): Promise<void> {
    await this.#request("session/set_model", { modelId }, signal);
  }

  /** Changes a setting, such as the model. */
  async setOption(configId: string, value: string | boolean, { signal }: Abortable = {}): Promise<void> {
    const type = typeof value === "boolean" ? { type: "boolean" } : {};
    await this.#request("session/set_config_option", { configId, value, ...type }, signal);
  }

  /** Cancels what runs or waits and releases the agent. The session stays listed and can be resumed. */
  async close({ signal }: Abortable = {}): Promise<void> {
    await this.#request("session/close", {}, signal);
  }

  /** Ends the session permanently. */
  async delete({ signal }: Abortable = {}): Promise<void> {
    await this.#request("session/delete", {}, signal);
  }

  /** The connection that follows this session; resumes the session on a new one if it was lost. */
  async attached({ signal }: Abortable = {}): Promise<AcpConnection> {
    const connection = await this.#sessions.connected({ signal });
    if (connection !== this.#connection) {
      await connection.request("session/resume", { sessionId: this.id }, signal);
      this.#connection = connection;
    }
    return connection;
  }

  async #request(method: string, params: JsonObject, signal?: AbortSignal): Promise<unknown> {
    return (await this.attached({ signal })).request(method, { sessionId: this.id, ...params }, signal);
  }
}
