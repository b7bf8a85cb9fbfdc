import { randomUUID } from "node:crypto";
import { type JsonObject, membersOf, RpcError, usageIn } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import type {
  ClientTool,
  Connection,
  GovernedSession,
  Hub,
  SessionRecord,
  TurnOffers,
  TurnQueue,
} from "@reins/host";
import type { Clock } from "@reins/kit";
import { type Harness, type Principal, sessionKey } from "@reins/supervisor";
import { ClientCalls } from "./client-calls.ts";
import { resultBlock, type Said } from "./prompt.ts";
import { type Emit, HaakError, type HaakEvent } from "./protocol.ts";
import type { Sequence } from "./sessions.ts";
import { UpdateEvents } from "./turn-events.ts";
import { LedgerTail, TurnStream } from "./turn-stream.ts";

/** What turns stand on. */
export interface HaakTurnParts {
  readonly hub: Hub;
  readonly harness: Harness;
  readonly offers: TurnOffers;
  /** Takes secrets out of what is shown. */
  readonly redact: (value: unknown) => unknown;
  readonly clock: Clock;
}

/** What a turn is made from. */
export interface HaakTurnRequest {
  readonly record: SessionRecord;
  readonly entry: Pick<AgentEntry, "toolNames">;
  readonly principal: Principal;
  readonly sequence: Sequence;
  readonly said: Said;
  readonly tools: readonly ClientTool[] | undefined;
  /** Told when the turn begins. */
  readonly onBegin: () => void;
}

/** More than this does not happen while a client carries out a tool. */
const MOST_HELD = 256;

/**
 * One turn that a client of `/ws` asked for. It is told in stretches: when the agent wants the client to carry out a
 * tool, a stretch ends with `tool_use`, and the next begins with what came of it.
 */
export class HaakTurn {
  readonly #parts: HaakTurnParts;
  readonly #request: HaakTurnRequest;
  readonly #cancelled = new AbortController();
  readonly #calls: ClientCalls;
  /** Where events go now; nowhere while nobody listens. */
  #emit: Emit | undefined;
  /** What happens while the client carries out a tool; told with the next stretch. */
  readonly #held: HaakEvent[] = [];
  #stretch = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #begun = false;
  #over = false;

  constructor(parts: HaakTurnParts, request: HaakTurnRequest) {
    this.#parts = parts;
    this.#request = request;
    this.#calls = new ClientCalls(parts.clock, () => this.#pause());
  }

  /** Whether it waits for its client to carry out a tool. */
  get isPaused(): boolean {
    return !this.#over && this.#emit === undefined && this.#calls.isWaiting;
  }

  /** Settles when it is over. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Begins it when its turn comes, and tells its first stretch. Rejects when it cannot be had; what goes wrong later is an event. */
  async begin(emit: Emit, queue: TurnQueue): Promise<void> {
    this.#emit = emit;
    const first = this.#stretch.promise;
    // While it waits, whatever calls off what waits for its agent calls it off too.
    const wanted = this.#parts.hub.live(this.#request.record.id)?.pending;
    const { signal } = this.#cancelled;
    void queue
      .run(() => this.#run(), wanted ? AbortSignal.any([signal, wanted]) : signal)
      .catch((error: unknown) => this.#tellUnbegun(error))
      .then(
        () => this.#stretch.resolve(),
        (error: unknown) => this.#stretch.reject(error),
      )
      .finally(() => this.#ended.resolve());
    await first;
  }

  /** Goes on with what the client carried out, and tells the next stretch; `undefined` when none of it was waited for. */
  resume({ results, prompt }: Said, emit: Emit): Promise<void> | undefined {
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
    return this.#stretch.promise;
  }

  /** Ends it. */
  cancel(reason: string): void {
    this.#cancelled.abort(new Error(reason));
  }

  async #run(): Promise<void> {
    const { hub, offers } = this.#parts;
    const { principal, tools } = this.#request;
    const id = randomUUID();
    const connection = await hub.connect({ id, principal });
    const call = (name: string, _input: unknown, signal: AbortSignal) => this.#calls.call(name, signal);
    const stream = this.#stream(connection);
    const withdraw = offers.announce(id, { tools, call, gated: (gates) => stream.gated(gates) });
    try {
      await this.#follow(stream, connection, id);
    } finally {
      this.#over = true;
      withdraw();
      hub.disconnect(connection);
    }
  }

  async #follow(stream: TurnStream, connection: Connection, id: string): Promise<void> {
    const { record, said } = this.#request;
    try {
      await stream.open();
      const prompt = [...said.prompt, ...said.results.map(resultBlock)];
      const params = { sessionId: record.id, prompt, _meta: { reins: { turn: id } } };
      const answer = connection.request("session/prompt", params, this.#cancelled.signal);
      await this.#tellEnd(stream, answer);
    } finally {
      stream.close();
    }
  }

  #stream(connection: Connection): TurnStream {
    const { hub, harness } = this.#parts;
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
      emit: (event) => this.#tell(event),
      onBegin: () => {
        this.#begun = true;
        onBegin();
      },
    });
  }

  #knownCall(id: string): { readonly told: JsonObject } | undefined {
    const call = this.#governed()?.toolCalls.get(id);
    return call && { told: membersOf(this.#parts.redact(call.told)) };
  }

  #governed(): GovernedSession | undefined {
    const { id } = this.#request.record;
    return this.#parts.hub.live(id)?.agent?.governor.session(id);
  }

  async #tellEnd(stream: TurnStream, answering: Promise<unknown>): Promise<void> {
    try {
      const answer = membersOf(await answering);
      await stream.drained();
      await this.#tell({
        type: "done",
        stop_reason: String(answer.stopReason ?? "end_turn"),
        usage: usageIn(answer),
      });
    } catch (error) {
      if (!this.#begun) throw error;
      await stream.drained();
      await this.#tell(this.#endOf(error));
    }
  }

  /** One that never began was cancelled, was not to be had, or its agent was not. */
  async #tellUnbegun(error: unknown): Promise<void> {
    const fault = HaakError.of(error);
    const isRefused = !this.#cancelled.signal.aborted && fault.code !== "internal";
    if (this.#begun || isRefused) throw fault;
    await this.#tell(this.#endOf(error));
  }

  #endOf(error: unknown): HaakEvent {
    if (this.#cancelled.signal.aborted) return { type: "done", stop_reason: "cancelled", usage: {} };
    const { code: named } = membersOf(membersOf(error instanceof RpcError ? error.data : undefined).reins);
    const { code, message } = HaakError.of(error);
    if (typeof named === "string") return { type: "error", code: named, message };
    return { type: "error", code: this.#begun ? code : "backend_unavailable", message };
  }

  #tell(event: HaakEvent): void | Promise<void> {
    const told = this.#emit?.(this.#request.sequence.number(event));
    if (this.isPaused && this.#held.length < MOST_HELD) this.#held.push(event);
    this.#calls.saw(event);
    return told;
  }

  /** The stretch is over: the client is to do something. */
  #pause(): void {
    const ended = this.#stretch;
    this.#stretch = Promise.withResolvers();
    // Nobody may come to hear the next one.
    this.#stretch.promise.catch(() => undefined);
    const told = this.#tell({ type: "done", stop_reason: "tool_use", usage: {} });
    this.#emit = undefined;
    void Promise.resolve(told).then(() => ended.resolve());
  }
}
