import { randomUUID } from "node:crypto";
import { errorMessage, type ParsedJson, systemClock } from "@reins/kit";
import type { z } from "zod";
import { AhpError } from "../errors.ts";
import type { Decision } from "../protocol/decisions.ts";
import {
  AhpEvent,
  type BlockingEventType,
  type EventType,
  type FireAndForgetEventType,
  isBatchable,
  isBlocking,
} from "../protocol/event.ts";
import { closedDecision, DECISIONS, type Decisions, type PayloadFor } from "../protocol/families.ts";
import {
  BatchRequest,
  BatchResponse,
  HandshakeRequest,
  HandshakeResponse,
  type Method,
  PROTOCOL_VERSION,
  QueryRequest,
  QueryResponse,
  RpcError,
} from "../protocol/messages.ts";
import { type OpenOptions, openTransport, type Transport } from "../transport/open.ts";
import { DecodeError, decode, isObject } from "../wire/decode.ts";
import { encode } from "../wire/encode.ts";
import type { CallOptions, ClientTransport, SendRequest } from "./transport.ts";

/** An event with every member given by its sender. */
export type FullEvent<Type extends EventType = EventType> = Omit<AhpEvent, "event_type" | "payload"> & {
  readonly event_type: Type;
  readonly payload: PayloadFor<Type>;
};

interface EventLimits extends CallLimits {
  readonly asReceived?: true;
}

type EventArguments =
  | [type: EventType, payload: unknown, limits?: EventLimits | undefined]
  | [event: FullEvent, limits?: EventLimits | undefined, none?: undefined];

/**
 * An agent's side of the protocol. Blocking events fail closed: no answer, a broken connection, an error or a
 * malformed answer is a decision that allows nothing, with the reason, unless `onFailure` is `"throw"`. Mistakes
 * of the caller (no handshake yet, an event that cannot be batched or written) are thrown either way.
 */
export class AhpClient {
  readonly #transport: ClientTransport;
  readonly #settings: ClientSettings;
  readonly #calls: Calls;
  #harness: HandshakeResponse | undefined;

  constructor(transport: ClientTransport, options: ClientOptions = {}) {
    this.#transport = transport;
    this.#settings = settleClient(options);
    this.#calls = new Calls(transport, this.#settings);
  }

  /** Opens a transport and makes a client for it; the handshake is the caller's to make. */
  static async connect(transport: Transport, options: ClientOptions = {}): Promise<AhpClient> {
    return new AhpClient(await openTransport(transport, options), options);
  }

  /** The session this client's own events belong to. */
  get sessionId(): string {
    return this.#settings.sessionId;
  }

  /** The agent this client's own events are from. */
  get agentId(): string {
    return this.#settings.agentId;
  }

  /** The response to the last handshake; absent before the first. */
  get harness(): HandshakeResponse | undefined {
    return this.#harness;
  }

  /** Negotiates version, capabilities and limits. Must be the first call; repeated automatically after a reconnect. */
  async handshake(capabilities: readonly string[], limits: CallLimits = {}): Promise<HandshakeResponse> {
    const greet = (send: SendRequest) => this.#greet(capabilities, limits, send);
    const harness = await greet(this.#transport.request);
    this.#transport.onReconnect(async (send) => void (await greet(send)));
    return harness;
  }

  /**
   * Sends an event that expects a decision: a type with its payload (of this session, at depth 0, stamped now), or a whole
   * event as it is. With `asReceived` the decision is checked but keeps members that the protocol does not know.
   */
  sendEvent<Type extends BlockingEventType>(
    type: Type,
    payload: PayloadFor<Type>,
    limits?: CallLimits,
  ): Promise<Decisions[Type]>;
  sendEvent(
    event: FullEvent<BlockingEventType>,
    limits: CallLimits & { readonly asReceived: true },
  ): Promise<unknown>;
  sendEvent<Type extends BlockingEventType>(
    event: FullEvent<Type>,
    limits?: CallLimits,
  ): Promise<Decisions[Type]>;
  async sendEvent(...given: EventArguments): Promise<unknown> {
    const { event, limits } = this.#whole(given);
    const type = event.event_type;
    if (!isBlocking(type)) throw misdirected(type, "gets no decision; use sendNotification");
    const params = this.#params(AhpEvent, event);
    const decide = async (): Promise<unknown> => {
      const result = await this.#calls.call("Event", "ahp/event", params, limits);
      const decision = decodeResult<unknown>(DECISIONS[type], result);
      return limits.asReceived ? result.value : decision;
    };
    return this.#calls.decide([event], decide, (reason) => closedDecision(type, reason));
  }

  /** Sends an event that expects no decision: a type with its payload, or a whole event as it is. */
  sendNotification(type: FireAndForgetEventType, payload: unknown, limits?: CallLimits): Promise<void>;
  sendNotification(event: FullEvent<FireAndForgetEventType>, limits?: CallLimits): Promise<void>;
  async sendNotification(...given: EventArguments): Promise<void> {
    const { event, limits } = this.#whole(given);
    if (isBlocking(event.event_type))
      throw misdirected(event.event_type, "expects a decision; use sendEvent");
    await this.#calls.notify("ahp/event", this.#params(AhpEvent, event), limits);
  }

  /** Sends events with generic decisions together, in batches of the size that the harness accepts. */
  async batch(events: readonly FullEvent[], limits?: CallLimits): Promise<Decision[]> {
    const misfit = events.find((event) => !isBatchable(event.event_type));
    if (misfit) {
      const text = `Batch failed: event type ${misfit.event_type} cannot be batched because it does not return a generic Decision`;
      throw new AhpError("protocol", text);
    }
    const size = this.#harness?.config?.batch_size || events.length;
    const decisions: Decision[] = [];
    for (let start = 0; start < events.length || start === 0; start += Math.max(size, 1)) {
      decisions.push(...(await this.#batchPiece(events.slice(start, start + size), limits)));
    }
    return decisions;
  }

  /** Sends a query. */
  async query(queryType: string, payload: unknown, limits?: CallLimits): Promise<QueryResponse> {
    const { sessionId: session_id, agentId: agent_id } = this.#settings;
    const params = this.#params(QueryRequest, { session_id, agent_id, query_type: queryType, payload });
    return decodeResult(QueryResponse, await this.#calls.call("Query", "ahp/query", params, limits));
  }

  /** An event of this session, stamped now, for the calls that take a whole event. */
  event<Type extends EventType>(type: Type, payload: PayloadFor<Type>): FullEvent<Type> {
    const { sessionId: session_id, agentId: agent_id, clock } = this.#settings;
    const timestamp = clock.now().toISOString();
    return { event_type: type, session_id, agent_id, timestamp, depth: 0, payload };
  }

  /** Closes the connection and, over stdio, the harness. Pending calls fail as after a broken connection. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  async #greet(
    capabilities: readonly string[],
    limits: CallLimits,
    send: SendRequest,
  ): Promise<HandshakeResponse> {
    const { framework, version, sessionId: session_id, agentId: agent_id } = this.#settings;
    const agent_info = { framework, version, capabilities };
    const request = { protocol_version: PROTOCOL_VERSION, agent_info, session_id, agent_id };
    const params = encode(HandshakeRequest, request);
    const result = await this.#calls.call("Handshake", "ahp/handshake", params, limits, send);
    const harness = decodeResult(HandshakeResponse, result);
    if (harness.protocol_version.split(".")[0] !== PROTOCOL_VERSION.split(".")[0]) {
      const text = `Handshake failed: the harness speaks version ${harness.protocol_version}, this client ${PROTOCOL_VERSION}`;
      throw new AhpError("protocol", text);
    }
    if (harness.session_token !== undefined) this.#transport.useSession(harness.session_token);
    this.#harness = harness;
    return harness;
  }

  #whole([first, second, third]: EventArguments): { event: FullEvent; limits: EventLimits } {
    if (typeof first === "string") return { event: this.event(first, second), limits: third ?? {} };
    return { event: first, limits: second ?? {} };
  }

  async #batchPiece(events: readonly FullEvent[], limits: CallLimits | undefined): Promise<Decision[]> {
    const params = this.#params(BatchRequest, { events });
    const ask = async () => {
      const { decisions } = decodeResult(
        BatchResponse,
        await this.#calls.call("Batch", "ahp/batch", params, limits),
      );
      if (decisions.length === events.length) return decisions;
      const counts = `expected ${events.length}, got ${decisions.length}`;
      throw new AhpError("protocol", `Batch failed: decision count mismatch, ${counts}`);
    };
    return this.#calls.decide(events, ask, (reason) => events.map(() => ({ decision: "block", reason })));
  }

  /** Params as JSON; nothing is written before the handshake. */
  #params(schema: z.ZodType, params: unknown): string {
    if (!this.#harness)
      throw new AhpError("protocol", "Handshake must complete before sending AHP operations");
    try {
      return encode(schema, params, 1);
    } catch (error) {
      throw new AhpError("serialization", errorMessage(error), { cause: error });
    }
  }
}

function misdirected(type: EventType, text: string): AhpError {
  return new AhpError("protocol", `Event failed: ${type} ${text}`);
}

/** The identity and the behaviour of a client. */
export interface ClientOptions extends OpenOptions {
  /** Sent in the handshake. */
  readonly framework?: string;
  readonly version?: string;
  /** Names of the session and the agent; random unless given. */
  readonly sessionId?: string;
  readonly agentId?: string;
  /** The default timeout of a call. */
  readonly timeoutMs?: number;
  /**
   * The result of a blocking event without a valid decision: a decision that allows nothing, with the reason,
   * or an error to be caught. Never an allow.
   */
  readonly onFailure?: "block" | "throw";
  /** Called when the closed decision is returned for want of a decision. */
  readonly onFailClosed?: (error: AhpError, events: readonly AhpEvent[]) => void;
  /** Makes request ids. */
  readonly newId?: () => string;
}

/** {@link ClientOptions} with every default in place. */
export type ClientSettings = Required<Omit<ClientOptions, Exclude<keyof OpenOptions, "timeoutMs" | "clock">>>;

const DEFAULT_TIMEOUT_MS = 10_000;

/** Fills in the defaults. */
function settleClient(options: ClientOptions): ClientSettings {
  return {
    framework: options.framework ?? "reins-ahp",
    version: options.version ?? "2.4.0",
    sessionId: options.sessionId ?? randomUUID(),
    agentId: options.agentId ?? randomUUID(),
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    onFailure: options.onFailure ?? "block",
    onFailClosed: options.onFailClosed ?? (() => {}),
    newId: options.newId ?? randomUUID,
    clock: options.clock ?? systemClock,
  };
}

/** Timeout and cancellation of one call. */
export type CallLimits = Partial<CallOptions>;

/** A result whose envelope was checked. */
export type Result = Pick<ParsedJson, "value" | "floats">;

/** Makes the calls of a client: envelopes out, checked results in. */
export class Calls {
  readonly #transport: ClientTransport;
  readonly #settings: ClientSettings;

  constructor(transport: ClientTransport, settings: ClientSettings) {
    this.#transport = transport;
    this.#settings = settings;
  }

  /** Sends a request and checks the response; `params` is JSON already. */
  async call(
    operation: Operation,
    method: Method,
    params: string,
    limits: CallLimits = {},
    send: SendRequest = this.#transport.request,
  ): Promise<Result> {
    const id = this.#settings.newId();
    const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"${method}","params":${params}}`;
    const answer = await send(id, text, this.#options(limits));
    return { value: resultOf(operation, id, answer), floats: answer.floats };
  }

  /** Sends a notification. */
  notify(method: Method, params: string, limits: CallLimits = {}): Promise<void> {
    return this.#transport.notify(
      `{"jsonrpc":"2.0","method":"${method}","params":${params}}`,
      this.#options(limits),
    );
  }

  /** Requests a decision; without one, returns the closed decision, or throws, depending on `onFailure`. */
  async decide<Answer>(
    events: readonly AhpEvent[],
    ask: () => Promise<Answer>,
    closed: (reason: string) => Answer,
  ): Promise<Answer> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof AhpError) || this.#settings.onFailure === "throw") throw error;
      this.#settings.onFailClosed(error, events);
      return closed(error.message);
    }
  }

  #options({ timeoutMs = this.#settings.timeoutMs, signal }: CallLimits): CallOptions {
    return { timeoutMs, signal };
  }
}

/** The operations a client performs, as its errors name them. */
export type Operation = "Handshake" | "Event" | "Query" | "Batch";

/** The result of a response, or why it has none, checked in the order the protocol's clients share. */
function resultOf(operation: Operation, id: string, { value, floats, duplicateKeys }: ParsedJson): unknown {
  const fail = (text: string, rpc?: RpcError) =>
    new AhpError("protocol", `${operation} failed: ${text}`, rpc ? { rpc } : {});
  if (!isObject(value)) throw fail("the response is not an object");
  if (duplicateKeys) throw fail("the response names a key twice");
  if (value.jsonrpc !== "2.0") throw fail(`invalid JSON-RPC version ${String(value.jsonrpc)}`);
  if (value.id !== id) throw fail(`response id mismatch, expected ${id}, got ${String(value.id)}`);
  if (value.error !== undefined && value.error !== null) {
    const rpc = decodeResult(RpcError, { value: value.error, floats });
    throw fail(rpc.message, rpc);
  }
  if (value.result === undefined || value.result === null) throw fail("missing result");
  return value.result;
}

/** A result as its type, or `Serialization error: …`. */
function decodeResult<Result>(
  schema: z.ZodType<Result>,
  result: Pick<ParsedJson, "value" | "floats">,
): Result {
  try {
    return decode(schema, result.value, result.floats);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new AhpError("serialization", error.message, { cause: error });
  }
}
