import { z } from "zod";
import type { Link, LinkEar } from "./connection.ts";
import { historyOf, type Item } from "./conversation/conversation.ts";
import { FollowedSession, type FollowedSessionParts } from "./followed-session.ts";
import { Observable } from "./observable.ts";

/** The state of the connection to the server. */
export type Line =
  | { readonly state: "closed" | "opening" | "open" }
  | { readonly state: "lost"; readonly retryAt: number; readonly error: unknown };

interface AcpClientParts extends FollowedSessionParts {
  readonly open: (ear: LinkEar) => Promise<Link>;
  /** Starts a timer; returns `cancel`. */
  readonly after: (milliseconds: number, run: () => void) => () => void;
  readonly newId: () => string;
  readonly random: () => number;
}

/** The parameters of a new session. */
interface Beginning {
  readonly agent: string;
  readonly cwd: string;
  /** `persistent`, or `oneshot` for a single prompt. */
  readonly life?: string | undefined;
}

/** At most this many sessions are attached at once; the least recently viewed is detached. */
const MOST_FOLLOWED = 8;

const Begun = z.looseObject({ sessionId: z.string() });
const Answered = z.looseObject({ stopReason: z.string() });
const OUTCOMES: Readonly<Record<string, string>> = {
  cancelled: "The turn was stopped.",
  max_tokens: "The turn ended because the model may say no more at once.",
  max_turn_requests: "The turn ended because it took too many steps.",
};

/**
 * The page's only connection to the server, shared by all sessions. After a lost connection it reconnects and loads
 * every session again.
 */
export class AcpClient {
  readonly line = new Observable<Line>({ state: "closed" });
  readonly #parts: AcpClientParts;
  readonly #sessions = new Map<string, FollowedSession>();
  /** Prompts that can still be cancelled. */
  readonly #prompts = new Map<string, AbortController>();
  #link: Promise<Link> | undefined;
  #callOffRetry: () => void = () => undefined;
  #failures = 0;
  /** The number of sessions being created: their updates may arrive before their ids. */
  #beginning = 0;

  constructor(parts: AcpClientParts) {
    this.#parts = parts;
  }

  /** Attaches to a session and loads its history; an ended session is only replayed. */
  follow(id: string, isOver = false): FollowedSession {
    const known = this.#sessions.get(id);
    if (known) {
      // Keeps the order of least recent use.
      this.#sessions.delete(id);
      this.#sessions.set(id, known);
      known.isOver ||= isOver;
      if (known.view.current().phase === "failed") void this.#takeUp(known);
      return known;
    }
    const session = this.#add(id);
    session.isOver = isOver;
    void this.#takeUp(session);
    return session;
  }

  /** Creates a session; returns its id. */
  async begin({ agent, cwd, life }: Beginning): Promise<string> {
    const _meta = { reins: { agent, ...(life !== undefined && { mode: life }) } };
    return this.#begin("session/new", { cwd, mcpServers: [], _meta });
  }

  /** Forks a session; returns the id of the fork. */
  async fork(from: string, cwd: string, title: string): Promise<string> {
    const sessionId = await this.#begin("session/fork", { sessionId: from, cwd, mcpServers: [] });
    const link = await this.#opened();
    await link.request("_sandboxagent/session/set_metadata", { sessionId, metadata: { title } });
    return sessionId;
  }

  /** Reads the history of a session up to a position, or all of it, without attaching. */
  async history(sessionId: string, until?: number): Promise<readonly Item[]> {
    const link = await this.#opened();
    return historyOf((params) => link.request("_reins/session/history", params), sessionId, until);
  }

  /** Sends a prompt. It is queued while earlier turns run. */
  async prompt(sessionId: string, text: string): Promise<void> {
    const session = this.follow(sessionId);
    const id = this.#parts.newId();
    const controller = new AbortController();
    this.#prompts.set(id, controller);
    session.sent(id, text);
    let link: Link | undefined;
    try {
      link = await this.#opened();
      const prompt = [{ type: "text", text }];
      const params = { sessionId, prompt, _meta: { reins: { prompt: id } } };
      const answer = Answered.safeParse(await link.request("session/prompt", params, controller.signal));
      session.answered(id);
      const outcome = answer.success ? OUTCOMES[answer.data.stopReason] : undefined;
      if (outcome !== undefined) session.note("note", outcome);
    } catch (error) {
      // A lost connection says nothing about the prompt; reloading the session shows what happened to it.
      if (!link || link.signal.aborted) return;
      session.answered(id);
      if (!controller.signal.aborted) session.note("bad", textOf(error));
    } finally {
      this.#prompts.delete(id);
    }
  }

  /** Cancels a queued prompt. */
  takeBack(sessionId: string, prompt: string): void {
    this.#prompts.get(prompt)?.abort();
    this.#sessions.get(sessionId)?.answered(prompt);
  }

  /** Cancels the running turn. */
  async stop(sessionId: string): Promise<void> {
    await (await this.#opened()).notify("session/cancel", { sessionId });
  }

  /** Changes a mode, a model or another setting. */
  async choose(sessionId: string, setting: { readonly id: string; readonly isMode: boolean }, value: string) {
    const link = await this.#opened();
    const answer = setting.isMode
      ? await link.request("session/set_mode", { sessionId, modeId: value })
      : await link.request("session/set_config_option", { sessionId, configId: setting.id, value });
    const session = this.#sessions.get(sessionId);
    if (setting.isMode) session?.hear({ sessionUpdate: "current_mode_update", currentModeId: value });
    else session?.chosen(answer);
  }

  /** Ends a session permanently. */
  async terminate(sessionId: string): Promise<void> {
    await (await this.#opened()).request("_sandboxagent/session/terminate", { sessionId });
    this.#sessions.get(sessionId)?.end();
  }

  /** Reconnects now instead of at the next retry. */
  retry(): void {
    this.#callOffRetry();
    // The connection state reports a failure.
    this.#opened().catch(() => undefined);
  }

  async #begin(method: string, params: unknown): Promise<string> {
    const link = await this.#opened();
    this.#beginning += 1;
    try {
      const answer = await link.request(method, params);
      const { sessionId } = Begun.parse(answer);
      (this.#sessions.get(sessionId) ?? this.#add(sessionId)).begun(answer);
      return sessionId;
    } finally {
      this.#beginning -= 1;
    }
  }

  #add(id: string): FollowedSession {
    const session = new FollowedSession(id, this.#parts);
    this.#sessions.set(id, session);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MOST_FOLLOWED && oldest !== undefined) this.#letGo(oldest);
    return session;
  }

  #letGo(sessionId: string): void {
    this.#sessions.delete(sessionId);
    this.#link
      ?.then((link) => link.request("_sandboxagent/session/detach", { sessionId }))
      .catch(() => undefined);
  }

  async #takeUp(session: FollowedSession): Promise<void> {
    session.takeUp();
    let link: Link | undefined;
    try {
      link = await this.#opened();
      const method = session.isOver ? "_reins/session/replay" : "session/load";
      const answer = await link.request(method, { sessionId: session.id });
      session.takenUp(answer, (prompt) => this.#prompts.has(prompt));
    } catch (error) {
      // After a lost connection the session is loaded with the next one.
      if (link && !link.signal.aborted) session.failed(error);
    }
  }

  #opened(): Promise<Link> {
    this.#link ??= this.#open();
    return this.#link;
  }

  async #open(): Promise<Link> {
    this.#callOffRetry();
    if (this.line.current().state !== "lost") this.line.set({ state: "opening" });
    try {
      const link = await this.#parts.open(this.#ear);
      link.signal.throwIfAborted();
      this.#failures = 0;
      this.line.set({ state: "open" });
      link.signal.addEventListener("abort", () => this.#lost(link.signal.reason), { once: true });
      for (const session of this.#sessions.values())
        if (session.view.current().phase === "cut") void this.#takeUp(session);
      return link;
    } catch (error) {
      this.#lost(error);
      throw error;
    }
  }

  #lost(error: unknown): void {
    this.#link = undefined;
    this.#failures += 1;
    const wait = waitAfter(this.#failures, this.#parts.random);
    this.line.set({ state: "lost", retryAt: this.#parts.now() + wait, error });
    for (const session of this.#sessions.values()) session.cut();
    this.#callOffRetry();
    this.#callOffRetry = this.#parts.after(wait, () => this.retry());
  }

  readonly #ear: LinkEar = {
    onUpdate: (session, update) => {
      const known = this.#sessions.get(session);
      if (known) known.hear(update);
      else if (this.#beginning > 0) this.#add(session).hear(update);
    },
    onQuestion: (session, question) => this.#sessions.get(session)?.ask(question),
    onWithdrawn: (session, id) => this.#sessions.get(session)?.withdraw(id),
    onGap: (session) =>
      this.#sessions.get(session)?.note("warn", "Some of what was said here is kept no longer."),
    onEnded: (session) => this.#sessions.get(session)?.end(),
    onTurn: (session, state) => this.#sessions.get(session)?.turn(state),
  };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const FIRST_MS = 250;
const MOST_MS = 10_000;

/** The pause before the next retry, doubled after each failure; jittered, so that many pages do not reconnect at once. */
export function waitAfter(failures: number, random: () => number): number {
  const most = Math.min(MOST_MS, FIRST_MS * 2 ** Math.max(0, failures - 1));
  return Math.round(most * (0.5 + random() / 2));
}
