import { randomUUID } from "node:crypto";
import { type JsonObject, membersOf, RpcError, readResult, reinsData, usageIn } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import type {
  ClientTool,
  ClientToolOutcome,
  Connection,
  GovernedSession,
  Hub,
  SessionRecord,
  TurnOffers,
  TurnQueue,
} from "@reins/host";
import type { Clock } from "@reins/kit";
import { type Harness, type Principal, sessionKey } from "@reins/supervisor";
import {
  type ClientToolResult,
  type Emit,
  HaakError,
  type HaakEvent,
  resultBlock,
  type TurnInput,
} from "./protocol.ts";
import type { EventSequence } from "./sessions.ts";
import { UpdateEvents } from "./turn-events.ts";
import { LedgerTail, TurnStream } from "./turn-stream.ts";

interface PendingCall {
  readonly name: string;
  readonly settle: (outcome: ClientToolOutcome) => void;
  /** Its id in the events, once the client has it. */
  id: string | undefined;
}

const CLIENT_TIMEOUT_MS = 10 * 60_000;

/** The tool calls of one turn that its client runs. The agent waits for each; the client learns its id first. */
export class ClientCalls {
  readonly #clock: Pick<Clock, "after">;
  readonly #onWait: () => void;
  /** The names of announced calls without a result, by id. */
  readonly #announced = new Map<string, string>();
  readonly #pending: PendingCall[] = [];

  /** `onWait` runs when a call waits for the client and the client has its id. */
  constructor(clock: Pick<Clock, "after">, onWait: () => void) {
    this.#clock = clock;
    this.#onWait = onWait;
  }

  /** Whether a call waits for the client. */
  get isWaiting(): boolean {
    return this.#pending.some(({ id }) => id !== undefined);
  }

  /** Notes an event that the client received. */
  observe(event: HaakEvent): void {
    if (event.type === "tool_call") this.#announced.set(event.id, event.name);
    if (event.type === "tool_result") this.#announced.delete(event.id);
    if (event.type === "tool_call" || event.type === "tool_call_update") this.#pair();
  }

  /** Waits for the client to run a tool. */
  async call(name: string, signal: AbortSignal): Promise<ClientToolOutcome> {
    signal.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<ClientToolOutcome>();
    const pending: PendingCall = { name, settle: resolve, id: undefined };
    this.#pending.push(pending);
    const fail = (text: string) => () => resolve({ text, isError: true });
    const cancelTimeout = this.#clock.after(
      CLIENT_TIMEOUT_MS,
      fail("the client did not carry it out in time"),
    );
    const onAbort = fail("the turn was cancelled");
    signal.addEventListener("abort", onAbort, { once: true });
    this.#pair();
    try {
      return await promise;
    } finally {
      cancelTimeout();
      signal.removeEventListener("abort", onAbort);
      this.#pending.splice(this.#pending.indexOf(pending), 1);
    }
  }

  /** Settles the calls that wait for these results. Returns the results that no call waits for. */
  answer(results: readonly ClientToolResult[]): readonly ClientToolResult[] {
    return results.filter(({ id, text, isError }) => {
      const pending = this.#pending.find((call) => call.id === id);
      pending?.settle({ text, isError });
      return pending === undefined;
    });
  }

  /** Pairs pending calls with announced ones of the same name. */
  #pair(): void {
    for (const pending of this.#pending) {
      if (pending.id !== undefined) continue;
      const taken = new Set(this.#pending.map(({ id }) => id));
      const [found] =
        [...this.#announced].find(([id, name]) => name === pending.name && !taken.has(id)) ?? [];
      if (found === undefined) continue;
      pending.id = found;
      this.#onWait();
    }
  }
}

export interface HaakTurnOptions {
  readonly hub: Hub;
  readonly harness: Harness;
  readonly offers: TurnOffers;
  /** Removes secrets. */
  readonly redact: (value: unknown) => unknown;
  readonly clock: Clock;
}

export interface HaakTurnRequest {
  readonly record: SessionRecord;
  readonly entry: Pick<AgentEntry, "toolNames">;
  readonly principal: Principal;
  readonly sequence: EventSequence;
  readonly input: TurnInput;
  readonly tools: readonly ClientTool[] | undefined;
  /** The number of `turn.run` from `hub.arrive`: what cancelled the session's requests since then cancels it too. */
  readonly arrival: number;
  readonly onBegin: () => void;
}

/** The most events that are held while a client runs a tool. */
const MAX_HELD = 256;

/**
 * One turn of `turn.run`. Its events come in segments: when the client has to run a tool, a segment ends with the stop
 * reason `tool_use`, and the next begins with the result.
 */
export class HaakTurn {
  readonly #options: HaakTurnOptions;
  readonly #request: HaakTurnRequest;
  readonly #cancelled = new AbortController();
  readonly #calls: ClientCalls;
  /** Receives events; `undefined` between segments. */
  #emit: Emit | undefined;
  /** Events between segments, for the next one. */
  readonly #held: HaakEvent[] = [];
  #segment = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #hasBegun = false;
  #isOver = false;

  constructor(options: HaakTurnOptions, request: HaakTurnRequest) {
    this.#options = options;
    this.#request = request;
    this.#calls = new ClientCalls(options.clock, () => this.#pause());
  }

  /** Whether it waits for its client to run a tool. */
  get isPaused(): boolean {
    return !this.#isOver && this.#emit === undefined && this.#calls.isWaiting;
  }

  /** Resolves when it is over. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Queues it and emits its first segment. Rejects if it cannot begin; later failures are events. */
  async begin(emit: Emit, queue: TurnQueue): Promise<void> {
    this.#emit = emit;
    const first = this.#segment.promise;
    // What cancels the requests that wait for its agent cancels it too while it waits.
    const pending = this.#options.hub.live(this.#request.record.id)?.pending;
    const { signal } = this.#cancelled;
    void queue
      .run(() => this.#run(), pending ? AbortSignal.any([signal, pending]) : signal)
      .catch((error: unknown) => this.#failToBegin(error))
      .then(
        () => this.#segment.resolve(),
        (error: unknown) => this.#segment.reject(error),
      )
      .finally(() => this.#ended.resolve());
    await first;
  }

  /** Resumes with the client's results and emits the next segment; `undefined` if no call waits for any of them. */
  resume({ results, prompt }: TurnInput, emit: Emit): Promise<void> | undefined {
    const [first, ...others] = results;
    if (!this.isPaused || !first) return undefined;
    const added = prompt.flatMap(({ text }) => (typeof text === "string" ? [text] : []));
    const given = [{ ...first, text: [first.text, ...added].join("\n") }, ...others];
    this.#emit = emit;
    if (this.#calls.answer(given).length === given.length) {
      this.#emit = undefined;
      return undefined;
    }
    for (const event of this.#held.splice(0)) void emit(this.#request.sequence.number(event));
    return this.#segment.promise;
  }

  cancel(reason: string): void {
    this.#cancelled.abort(new Error(reason));
  }

  async #run(): Promise<void> {
    const { hub, offers } = this.#options;
    const { principal, tools, arrival } = this.#request;
    const id = randomUUID();
    const connection = await hub.connect({ id, principal, arrival });
    const call = (name: string, _input: unknown, signal: AbortSignal) => this.#calls.call(name, signal);
    const stream = this.#newStream(connection);
    const withdraw = offers.announce(id, { tools, call, gated: (gates) => stream.gated(gates) });
    try {
      await this.#prompt(stream, connection, id);
    } finally {
      this.#isOver = true;
      withdraw();
      hub.disconnect(connection);
    }
  }

  async #prompt(stream: TurnStream, connection: Connection, id: string): Promise<void> {
    const { record, input } = this.#request;
    try {
      await stream.open();
      const prompt = [...input.prompt, ...input.results.map(resultBlock)];
      const params = { sessionId: record.id, prompt, _meta: { reins: { turn: id } } };
      const result = connection.request("session/prompt", params, this.#cancelled.signal);
      await this.#send(await this.#endEvent(stream, result));
    } finally {
      stream.close();
    }
  }

  #newStream(connection: Connection): TurnStream {
    const { hub, harness } = this.#options;
    const { record, entry, onBegin } = this.#request;
    const { tenant, id: session, key: session_key } = record;
    const chain = sessionKey({ tenant, session, session_key, agent: record.acts_as ?? record.agent });
    return new TurnStream({
      log: hub.log,
      session: record,
      connection,
      updates: new UpdateEvents(entry, (call) => this.#knownCall(call)),
      tail: new LedgerTail(harness.ledger, chain),
      recorded: async () => this.#governed()?.recorded,
      settled: () => harness.supervisor.close(),
      emit: (event) => this.#send(event),
      onBegin: () => {
        this.#hasBegun = true;
        onBegin();
      },
    });
  }

  #knownCall(id: string): { readonly reported: JsonObject } | undefined {
    const call = this.#governed()?.toolCalls.get(id);
    return call && { reported: membersOf(this.#options.redact(call.reported)) };
  }

  #governed(): GovernedSession | undefined {
    const { id } = this.#request.record;
    return this.#options.hub.live(id)?.agent?.governor.session(id);
  }

  /** Waits for the end of the turn and for its other events. */
  async #endEvent(stream: TurnStream, prompted: Promise<unknown>): Promise<HaakEvent> {
    try {
      const result = await prompted;
      await stream.drained();
      const { stopReason = "end_turn" } = readResult("session/prompt", result);
      return { type: "done", stop_reason: stopReason, usage: usageIn(result) };
    } catch (error) {
      if (!this.#hasBegun) throw error;
      await stream.drained();
      return this.#failureEvent(error);
    }
  }

  /** A turn that did not begin was cancelled or refused, or its agent is not available. */
  async #failToBegin(error: unknown): Promise<void> {
    const fault = HaakError.of(error);
    const isRefused = !this.#cancelled.signal.aborted && fault.code !== "internal";
    if (this.#hasBegun || isRefused) throw fault;
    await this.#send(this.#failureEvent(error));
  }

  #failureEvent(error: unknown): HaakEvent {
    if (this.#cancelled.signal.aborted) return { type: "done", stop_reason: "cancelled", usage: {} };
    const { code, message } = HaakError.of(error);
    const { code: agentCode } = reinsData(error instanceof RpcError ? error.data : undefined);
    const ownCode = this.#hasBegun ? code : "backend_unavailable";
    return { type: "error", code: agentCode ?? ownCode, message };
  }

  #send(event: HaakEvent): void | Promise<void> {
    const sent = this.#emit?.(this.#request.sequence.number(event));
    if (this.isPaused && this.#held.length < MAX_HELD) this.#held.push(event);
    this.#calls.observe(event);
    return sent;
  }

  /** Ends the segment: the client has to run a tool. */
  #pause(): void {
    const ended = this.#segment;
    this.#segment = Promise.withResolvers();
    // The client may never request the next one.
    this.#segment.promise.catch(() => undefined);
    const sent = this.#send({ type: "done", stop_reason: "tool_use", usage: {} });
    this.#emit = undefined;
    void Promise.resolve(sent).then(() => ended.resolve());
  }
}
