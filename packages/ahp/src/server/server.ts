import { randomBytes } from "node:crypto";
import { type Clock, errorMessage, type Floats, systemClock } from "@reins/kit";
import { layered, Refusal, RPC } from "../errors.ts";
import { Decision } from "../protocol/decisions.ts";
import { type AhpEvent, isBatchable } from "../protocol/event.ts";
import {
  BatchRequest,
  HandshakeRequest,
  HandshakeResponse,
  type HarnessConfig,
  type HarnessInfo,
  type Method,
  QueryRequest,
  QueryResponse,
} from "../protocol/messages.ts";
import { isObject } from "../wire/decode.ts";
import { encode } from "../wire/encode.ts";
import { answerEvent, faultOf, handleNotification, NOT_SUPPORTED } from "./event.ts";
import { Exchange, failure } from "./exchange.ts";
import { type Handlers, memoryPeer, type Peer } from "./handlers.ts";
import {
  errorText,
  type NotificationMessage,
  type RequestMessage,
  readMessage,
  resultText,
} from "./message.ts";
import { acceptHandshake, type Session, Sessions } from "./sessions.ts";

/** Each decision is nested in the response, its result and the list of decisions. */
const AROUND = 3;

/**
 * Decides on the events of a batch in order. A handler that fails blocks only its event; an event that cannot be
 * batched fails the whole batch.
 */
async function answerBatch(exchange: Exchange, params: unknown): Promise<string> {
  const { events } = exchange.params(BatchRequest, params);
  const limit = exchange.settings.config.batch_size;
  if (limit !== undefined && events.length > limit && events.length > 0) {
    const message = `Batch size ${events.length} exceeds configured limit ${limit}`;
    throw new Refusal(RPC.invalidParams, message, "batch_too_large", {
      size: events.length,
      batch_size: limit,
    });
  }
  const sessions = sessionsOf(exchange, events);
  const decisions: string[] = [];
  const { clock, deadlineMs } = exchange.settings;
  const begun = clock.now().getTime();
  for (const [index, event] of events.entries()) {
    refuseMisfit(exchange, event, index);
    // All events share the deadline of one, because the sender waits no longer for a batch.
    const left = deadlineMs === undefined ? undefined : deadlineMs - (clock.now().getTime() - begun);
    if (exchange.gone?.aborted || (left !== undefined && left <= 0)) {
      const reason = exchange.gone?.aborted ? "its sender has gone" : `Timeout after ${deadlineMs}ms`;
      decisions.push(encode(Decision, { decision: "block", reason }));
      continue;
    }
    const deadline = exchange.deadline(left);
    const call = exchange.eventCall(event, sessions[index], deadline);
    decisions.push(
      await decideOrBlock(() =>
        exchange.result(Decision, deadline, () => exchange.handlers.event(event, call), { around: AROUND }),
      ),
    );
  }
  return `{"decisions":[${decisions.join(",")}]}`;
}

/** The session of each event; a batch without events needs one all the same. */
function sessionsOf(exchange: Exchange, events: readonly AhpEvent[]): (Session | undefined)[] {
  return events.length === 0 ? [exchange.session(undefined)] : events.map((event) => exchange.session(event));
}

function refuseMisfit(exchange: Exchange, event: AhpEvent, index: number): void {
  const fault = faultOf(event, exchange.settings.config, exchange.floats);
  if (fault) {
    const details = { ...fault.details, index };
    throw new Refusal(RPC.invalidParams, `Invalid event: ${fault.text}`, fault.reason, details);
  }
  if (isBatchable(event.event_type)) return;
  const message = `Event type ${event.event_type} cannot be batched because it does not return a generic Decision`;
  throw new Refusal(RPC.invalidParams, message, "not_batchable", { index });
}

async function decideOrBlock(decide: () => Promise<string>): Promise<string> {
  try {
    return await decide();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return encode(Decision, { decision: "block", reason: error.message });
  }
}

/** The result of a message. */
export interface Outcome {
  /** The text to send back; absent when nothing is. */
  readonly reply: string | undefined;
  /** Whether the message was not JSON, for which HTTP has its own status. */
  readonly unreadable: boolean;
}

/** Messages that wait for a decision, which may take long, and all others. */
export type Lane = "decisions" | "others";

/** A message that was read and not yet handled. */
export interface ReadMessage {
  readonly lane: Lane;
  /** The session and agent that it names, by which senders are distinguished; nothing where it names none. */
  readonly sender: string | undefined;
  /** Handles it; `gone` aborts when its sender disconnects. Never rejects. */
  run(gone?: AbortSignal): Promise<Outcome>;
}

type Answer = (exchange: Exchange, params: unknown) => Promise<string>;

const METHODS: ReadonlyMap<string, Answer> = new Map<Method, Answer>([
  ["ahp/handshake", answerHandshake],
  ["ahp/event", answerEvent],
  ["ahp/query", answerQuery],
  ["ahp/batch", answerBatch],
]);

/** The methods whose answer is a decision. */
const WAITING: ReadonlySet<string> = new Set<Method>(["ahp/event", "ahp/batch"]);

/**
 * A harness without a transport: text in, text out. Every transport passes its messages to {@link handle}, which
 * never throws or rejects for any message or handler.
 */
export class AhpServer {
  readonly settings: ServerSettings;
  readonly #handlers: Handlers;
  readonly #sessions: Sessions;

  constructor(handlers: Handlers, options: ServerOptions = {}) {
    this.settings = settle(options);
    this.#handlers = handlers;
    this.#sessions = new Sessions(this.settings.sessionBound);
  }

  /** The reply to one message, or nothing when none is due. */
  async handleMessage(text: string, peer: Peer = memoryPeer()): Promise<string | undefined> {
    const { reply } = await this.handle(text, peer);
    return reply;
  }

  /** Like {@link handleMessage}, with whether the message could be read; `gone` aborts when its sender disconnects. */
  handle(text: string, peer: Peer, gone?: AbortSignal): Promise<Outcome> {
    return this.read(text, peer).run(gone);
  }

  /** Reads a message; the transport decides when it is handled. */
  read(text: string, peer: Peer): ReadMessage {
    const { compat } = this.settings;
    const message = readMessage(text, compat, peer.transport === "http");
    switch (message.kind) {
      case "request":
        return {
          lane: WAITING.has(message.method) ? "decisions" : "others",
          sender: senderIn(message.params),
          run: (gone) => this.#answer(message, this.#exchange(peer, text, message.floats, gone)),
        };
      case "notification":
        return {
          lane: "others",
          sender: senderIn(message.params),
          run: (gone) => this.#note(message, this.#exchange(peer, text, message.floats, gone)),
        };
      case "malformed": {
        const answerable = peer.transport === "http" || (message.answerable && !compat);
        const id = compat ? "" : message.id;
        return unnamed(() => {
          if (!answerable) this.dropped(message.refusal.message, text);
          return answered(answerable ? errorText(id, message.refusal, compat) : undefined);
        });
      }
      case "unreadable":
        return unnamed(() => {
          if (compat) this.dropped(message.refusal.message, text);
          const reply = compat ? undefined : errorText(null, message.refusal, compat);
          return { reply, unreadable: true };
        });
    }
  }

  /** Reports a dropped message; a callback that throws is ignored. */
  dropped(reason: string, text: string): void {
    try {
      this.settings.onDropped(reason, text);
    } catch {
      // An error of the callback must not end the server.
    }
  }

  #exchange(peer: Peer, text: string, floats: Floats | undefined, gone: AbortSignal | undefined): Exchange {
    const server = { handlers: this.#handlers, settings: this.settings, sessions: this.#sessions };
    return new Exchange(server, { peer, text, floats, gone });
  }

  async #answer({ id, method, params }: RequestMessage, exchange: Exchange): Promise<Outcome> {
    try {
      const answer = METHODS.get(method);
      if (!answer) throw new Refusal(RPC.methodNotFound, "Method not found", "method_not_found", { method });
      return answered(resultText(id, await answer(exchange, params)));
    } catch (error) {
      return answered(errorText(id, asRefusal(error), this.settings.compat));
    }
  }

  async #note({ method, params }: NotificationMessage, exchange: Exchange): Promise<Outcome> {
    if (method !== "ahp/event") return answered(undefined);
    try {
      await handleNotification(exchange, params);
      return answered(undefined);
    } catch (error) {
      const refusal = asRefusal(error);
      if (exchange.peer.transport === "http") return answered(errorText("", refusal, this.settings.compat));
      this.dropped(refusal.message, exchange.text);
      return answered(undefined);
    }
  }
}

async function answerHandshake(exchange: Exchange, params: unknown): Promise<string> {
  const request = exchange.params(HandshakeRequest, params);
  const { response, session } = acceptHandshake(request, exchange.settings);
  exchange.sessions.open(exchange.peer, session);
  return encode(HandshakeResponse, response);
}

/** The sender that a message names; for a batch, that of its first event. */
function senderIn(params: unknown): string | undefined {
  if (!isObject(params)) return undefined;
  const named = Array.isArray(params.events) ? params.events[0] : params;
  if (!isObject(named)) return undefined;
  const { session_id, agent_id } = named;
  // Other values name no sender, and are refused when the message is handled.
  return typeof session_id === "string" && typeof agent_id === "string"
    ? JSON.stringify([session_id, agent_id])
    : undefined;
}

function unnamed(run: () => Outcome): ReadMessage {
  return { lane: "others", sender: undefined, run: async () => run() };
}

function asRefusal(error: unknown): Refusal {
  return error instanceof Refusal ? error : failure(errorMessage(error), "handler_failed", error);
}

function answered(reply: string | undefined): Outcome {
  return { reply, unreadable: false };
}

/** The identity and the limits of a server. */
export interface ServerOptions {
  /** Name, version and capabilities, sent in the handshake. */
  readonly info?: Partial<HarnessInfo>;
  /** The limits. They replace the defaults as a whole; an absent limit is not enforced. */
  readonly config?: HarnessConfig;
  /**
   * Behaves exactly as the upstream implementation: unreadable messages are dropped, number ids are taken for
   * notifications, `jsonrpc` is not checked, errors carry no `data`, handlers have no deadline.
   */
  readonly compat?: boolean;
  /** Answers events, queries and batches only after a handshake. */
  readonly requireHandshake?: boolean;
  /** How long a handler may take before the event is blocked; by default `config.timeout_ms`. */
  readonly deadlineMs?: number;
  /** How many handshakes made over HTTP are remembered. */
  readonly sessionBound?: number;
  /** Called for every dropped notification; its sender gets no response. */
  readonly onDropped?: (reason: string, text: string) => void;
  readonly clock?: Clock;
  /** Makes session tokens. */
  readonly newToken?: () => string;
}

/** {@link ServerOptions} with every default in place. */
export interface ServerSettings extends Required<Omit<ServerOptions, "info" | "deadlineMs">> {
  readonly info: HarnessInfo;
  /** `undefined` in compatibility mode. */
  readonly deadlineMs: number | undefined;
}

const DEFAULT_INFO: HarnessInfo = {
  name: "ahp-server",
  version: "2.4.0",
  capabilities: [
    "pre_action",
    "post_action",
    "pre_prompt",
    "query",
    "batch",
    "run_lifecycle",
    "task_list",
    "verification",
  ],
};

const DEFAULT_CONFIG: HarnessConfig = { timeout_ms: 10_000, batch_size: 100, max_depth: 10 };
const DEFAULT_DEADLINE_MS = 10_000;
const DEFAULT_SESSION_BOUND = 10_000;

/** Fills in the defaults. */
function settle(options: ServerOptions): ServerSettings {
  const config = options.config ?? DEFAULT_CONFIG;
  const compat = options.compat ?? false;
  return {
    info: { ...DEFAULT_INFO, ...options.info },
    config,
    compat,
    requireHandshake: options.requireHandshake ?? false,
    deadlineMs: compat ? undefined : (options.deadlineMs ?? config.timeout_ms ?? DEFAULT_DEADLINE_MS),
    sessionBound: options.sessionBound ?? DEFAULT_SESSION_BOUND,
    onDropped: options.onDropped ?? (() => {}),
    clock: options.clock ?? systemClock,
    newToken: options.newToken ?? (() => randomBytes(32).toString("base64url")),
  };
}

/** Answers a question of the agent. */
async function answerQuery(exchange: Exchange, params: unknown): Promise<string> {
  const request = exchange.params(QueryRequest, params);
  const session = exchange.session(request);
  const { handlers } = exchange;
  if (!handlers.query) throw failure(layered("unsupported", NOT_SUPPORTED["ahp/query"]), "not_supported");
  const deadline = exchange.deadline();
  return exchange.result(QueryResponse, deadline, () =>
    handlers.query?.(request, exchange.call(session, deadline)),
  );
}
