import { setTimeout as wait } from "node:timers/promises";
import {
  CANCEL_REQUEST,
  type Channel,
  CODE,
  classify,
  isObject,
  type JsonObject,
  type RequestId,
  readParams,
  readResult,
} from "@reins/acp";
import { errorMessage, exponentialBackoff } from "@reins/kit";
import type { AgentChannel } from "../../hosting/agent-channel.ts";
import type { Log } from "../../log.ts";

interface ReconnectingChannelOptions {
  /** Opens a channel to the agents of a home; rejects while there is none. */
  readonly open: () => Promise<AgentChannel>;
  readonly log: Pick<Log, "warn" | "info">;
}

/** The largest message that the server accepts. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
const RECONNECT_TIMEOUT_MS = 120_000;
const RETRY = { firstMs: 250, mostMs: 2_000 };
const MAX_QUEUED = 256;
const OWN_ID = "reins-acp:";
/** Requests that create a session to resume after a reconnect. */
const BEGINS: ReadonlySet<string> = new Set([
  "session/new",
  "session/fork",
  "session/load",
  "session/resume",
]);
const ENDS: ReadonlySet<string> = new Set(["session/close", "session/delete"]);

/**
 * A channel to agents that survives a restart of the server. When the connection breaks, pending requests fail;
 * after it is back, the client is initialized again and its sessions are resumed. A message that is too large fails
 * alone.
 */
export class ReconnectingChannel implements Channel {
  readonly #options: ReconnectingChannelOptions;
  readonly #closed = Promise.withResolvers<Error>();
  #listener: (message: JsonObject) => void | Promise<void> = () => undefined;
  #current: AgentChannel | undefined;
  #isOver = false;
  #hello: JsonObject | undefined;
  readonly #underWay = new Map<RequestId, { readonly method: string; readonly params: JsonObject }>();
  readonly #asked = new Set<RequestId>();
  /** The client's sessions with the params of `session/resume`. */
  readonly #sessions = new Map<string, JsonObject>();
  readonly #own = new Map<string, (answer: JsonObject) => void>();
  #waiting: JsonObject[] = [];
  #next = 1;

  private constructor(options: ReconnectingChannelOptions) {
    this.#options = options;
  }

  static async open(options: ReconnectingChannelOptions): Promise<ReconnectingChannel> {
    const lasting = new ReconnectingChannel(options);
    lasting.#attach(await options.open());
    return lasting;
  }

  /** Settles when reconnecting took too long. */
  get closed(): Promise<Error> {
    return this.#closed.promise;
  }

  onMessage(listener: (message: JsonObject) => void | Promise<void>): void {
    this.#listener = listener;
  }

  async send(message: JsonObject): Promise<void> {
    if (Buffer.byteLength(JSON.stringify(message)) > MAX_MESSAGE_BYTES) return this.#refuse(message);
    const current = this.#current;
    if (!current) {
      if (this.#waiting.length < MAX_QUEUED) this.#waiting.push(message);
      else await this.#fail(message, "too many messages wait for Reins to come back");
      return;
    }
    this.#note(message);
    // Fails with the channel itself.
    await current.channel.send(message).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#current?.close();
  }

  #attach(opened: AgentChannel): void {
    this.#current = opened;
    opened.channel.onMessage((message) => this.#take(message));
    void opened.channel.closed.then((reason) => this.#lost(opened, reason));
  }

  /** Answers a message that is too large with an error, in either direction. */
  async #refuse(message: JsonObject): Promise<void> {
    const text = `a message has at most ${MAX_MESSAGE_BYTES} bytes`;
    const sorted = classify(message);
    if (sorted.kind !== "result" && sorted.kind !== "error")
      return this.#fail(message, text, CODE.invalidRequest);
    await this.send({ jsonrpc: "2.0", id: sorted.id, error: { code: CODE.internal, message: text } });
  }

  async #fail(message: JsonObject, text: string, code: number = CODE.internal): Promise<void> {
    const sorted = classify(message);
    if (sorted.kind === "request") await this.#listener(failure(sorted.id, code, text));
    else this.#options.log.warn({ method: message.method }, text);
  }

  #note(message: JsonObject): void {
    const sorted = classify(message);
    if (sorted.kind === "result" || sorted.kind === "error") this.#asked.delete(sorted.id);
    if (sorted.kind !== "request") return;
    const { id, method } = sorted;
    const params = isObject(sorted.params) ? sorted.params : {};
    if (method === "initialize") this.#hello = params;
    this.#underWay.set(id, { method, params });
  }

  #take(message: JsonObject): void | Promise<void> {
    const sorted = classify(message);
    if (sorted.kind === "request") this.#asked.add(sorted.id);
    if (sorted.kind === "notification" && sorted.method === CANCEL_REQUEST) {
      const { requestId } = readParams(CANCEL_REQUEST, sorted.params);
      if (requestId !== undefined) this.#asked.delete(requestId);
    }
    if (sorted.kind === "result" || sorted.kind === "error") {
      const own = typeof sorted.id === "string" ? this.#own.get(sorted.id) : undefined;
      if (own) return own(message);
      const asked = this.#underWay.get(sorted.id);
      this.#underWay.delete(sorted.id);
      if (asked && sorted.kind === "result") this.#noteSession(asked.method, asked.params, sorted.result);
    }
    return this.#listener(message);
  }

  #noteSession(method: string, params: JsonObject, result: unknown): void {
    const { sessionId: id } =
      method === "session/new" || method === "session/fork"
        ? readResult(method, result)
        : readParams("session/load", params);
    if (id === undefined) return;
    if (ENDS.has(method)) this.#sessions.delete(id);
    if (!BEGINS.has(method)) return;
    const { cwd, mcpServers, additionalDirectories } = params;
    this.#sessions.set(id, { sessionId: id, cwd, mcpServers, additionalDirectories });
  }

  async #lost(opened: AgentChannel, reason: Error): Promise<void> {
    if (this.#isOver || this.#current !== opened) return;
    this.#current = undefined;
    this.#options.log.warn({ reason: errorMessage(reason) }, "Reins went away; waiting for it to come back");
    await opened.close().catch(() => undefined);
    for (const id of this.#asked)
      await this.#listener({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: id } });
    this.#asked.clear();
    for (const id of this.#underWay.keys())
      await this.#listener(failure(id, CODE.internal, CUT, INTERRUPTED));
    this.#underWay.clear();
    this.#own.clear();
    const back = await this.#reopen().catch((error: unknown) => {
      this.#closed.resolve(error instanceof Error ? error : new Error(String(error)));
      return undefined;
    });
    if (back) await this.#resume(back);
  }

  async #reopen(): Promise<AgentChannel | undefined> {
    const { open } = this.#options;
    const until = Date.now() + RECONNECT_TIMEOUT_MS;
    for (let failures = 1; !this.#isOver; failures += 1) {
      const pause = exponentialBackoff(RETRY, failures);
      try {
        return await open();
      } catch (error) {
        if (Date.now() + pause > until) throw error;
      }
      await wait(pause);
    }
    return undefined;
  }

  /** Initializes and resumes before anything else is sent. */
  async #resume(opened: AgentChannel): Promise<void> {
    if (this.#isOver) return opened.close();
    let isGone = false;
    opened.channel.onMessage((message) => this.#take(message));
    const gone = opened.channel.closed.then(() => {
      isGone = true;
    });
    const ask = async (method: string, params: JsonObject) => {
      const id = `${OWN_ID}${this.#next++}`;
      const { promise, resolve } = Promise.withResolvers<JsonObject>();
      this.#own.set(id, resolve);
      await opened.channel.send({ jsonrpc: "2.0", id, method, params }).catch(() => undefined);
      await Promise.race([promise, gone]);
      this.#own.delete(id);
    };
    if (this.#hello) await ask("initialize", this.#hello);
    for (const params of this.#sessions.values()) if (!isGone) await ask("session/resume", params);
    this.#current = opened;
    void opened.channel.closed.then((reason) => this.#lost(opened, reason));
    if (isGone) return;
    this.#options.log.info("Reins is back");
    for (const message of this.#waiting.splice(0)) await this.send(message);
  }
}

const CUT = "Reins was restarted before this was answered; it may or may not have happened";
const INTERRUPTED = { interrupted: true };

function failure(id: RequestId, code: number, message: string, data?: object): JsonObject {
  return { jsonrpc: "2.0", id, error: { code, message, ...(data && { data }) } };
}
