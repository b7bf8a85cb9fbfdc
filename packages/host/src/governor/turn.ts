import { isObject, type JsonObject, readResult, readUpdate } from "@reins/acp";
import type { Draft } from "@reins/ledger";
import { blake3Hex, canonicalJson } from "@reins/ledger";
import { type Subject, sessionKey } from "@reins/supervisor";

/** How much of what an agent says in one turn is kept for its hash. */
const MAX_OUTPUT = 32 * 1024 * 1024;
const OVER = new Error("the turn is over");

/** What an agent says it used. */
export interface TurnUsage {
  readonly tokens?: number;
  readonly cost?: number;
}

/** One prompt and everything until it is answered. */
export class Turn {
  readonly id: string;
  readonly started: string;
  /** The entries it covers, in order. */
  readonly entries: string[] = [];
  readonly #writing: Promise<unknown>[] = [];
  readonly #output: string[] = [];
  readonly #prompt: () => unknown;
  #end: AbortController | undefined;
  #over: Error | undefined;
  #input: string | undefined;
  #outputSize = 0;
  readonly #costBefore: number;
  #cost: number | undefined;
  #tokens = 0;
  #cancelled = false;
  #onCancel: (() => void) | undefined;

  /**
   * `prompt` gives what went in, without secrets; `costBefore` is what the session had cost when the turn began, as far
   * as its agent tells.
   */
  constructor(id: string, started: string, prompt: () => unknown, costBefore = 0) {
    this.id = id;
    this.started = started;
    this.#costBefore = costBefore;
    this.#prompt = prompt;
    // There is time for it while the verdict is being written.
    setImmediate(() => this.#inputHash());
  }

  /** Aborts when the turn is cancelled or over. Made on demand: most turns need none, and it is expensive. */
  get signal(): AbortSignal {
    this.#end ??= new AbortController();
    if (this.#over) this.#end.abort(this.#over);
    return this.#end.signal;
  }

  /** Whether it is cancelled or over. */
  get isOver(): boolean {
    return this.#over !== undefined;
  }

  /** Whether it was cancelled. */
  get isCancelled(): boolean {
    return this.#cancelled;
  }

  /** Ends everything that waits in it. */
  cancel(reason: string): void {
    const isFirst = !this.#cancelled;
    this.#cancelled = true;
    this.#stop(new Error(reason));
    if (isFirst) this.#onCancel?.();
  }

  /** Does something when it is cancelled. */
  onCancel(run: () => void): void {
    this.#onCancel = run;
    if (this.#cancelled) run();
  }

  /** Ends it after its answer has come. */
  finish(): void {
    this.#stop(OVER);
  }

  /** Waits for a write before the turn's own. The writer reports its failure. */
  awaits(writing: Promise<unknown>): void {
    // At once: it may fail long before the turn ends.
    this.#writing.push(writing.catch(() => undefined));
  }

  /** Settles when everything that belongs to it is written; nothing where that is so already. */
  written(): Promise<unknown> | undefined {
    return this.#writing.length > 0 ? Promise.all(this.#writing.splice(0)) : undefined;
  }

  /** Notes what clients saw of an update. */
  saw(update: JsonObject): void {
    const { sessionUpdate, content } = update;
    if (sessionUpdate === "usage_update") this.#noteUsage(update);
    if (sessionUpdate !== "agent_message_chunk" || !isObject(content)) return;
    if (typeof content.text !== "string" || this.#outputSize >= MAX_OUTPUT) return;
    this.#output.push(content.text);
    this.#outputSize += content.text.length;
  }

  /** What it used, from its answer and the updates before it. */
  usage(answer: unknown): TurnUsage {
    const { totalTokens } = readResult("session/prompt", answer).usage;
    const cost = this.costAfter - this.#costBefore;
    return {
      ...(totalTokens !== undefined && { tokens: totalTokens }),
      ...(this.#cost !== undefined && cost >= 0 && { cost }),
    };
  }

  /** The most tokens that its context held: no more than it has used. */
  get tokens(): number {
    return this.#tokens;
  }

  /** What the session has cost now; agents tell the cost of the whole session. */
  get costAfter(): number {
    return this.#cost ?? this.#costBefore;
  }

  /** The hashes of what went in and of what the agent said. */
  get hashes(): { readonly inputs_hash: string; readonly outputs_hash: string } {
    return { inputs_hash: this.#inputHash(), outputs_hash: blake3Hex(this.#output.join("")) };
  }

  #inputHash(): string {
    this.#input ??= blake3Hex(canonicalJson(this.#prompt()));
    return this.#input;
  }

  #stop(reason: Error): void {
    this.#over ??= reason;
    this.#end?.abort(this.#over);
  }

  #noteUsage(update: JsonObject): void {
    const { cost, used = 0 } = readUpdate("usage_update", update);
    this.#tokens = Math.max(this.#tokens, used);
    this.#cost = cost.amount ?? this.#cost;
  }
}

/** How a turn ended. */
interface TurnEnd {
  readonly stop_reason: string;
  readonly completed_at: string;
  readonly usage: Readonly<Record<string, unknown>>;
}

/** The entry for a turn, which names the entries it covers. */
export function turnDraft(
  subject: Subject,
  turn: Turn,
  { stop_reason, completed_at, usage }: TurnEnd,
): Draft {
  return {
    quality: "turn",
    actor: subject.agent,
    target: subject.session,
    entity_id: sessionKey(subject),
    tags: [`turn:${turn.id}`, stop_reason],
    // In the order in which they are recorded, by name.
    payload: {
      actor: subject.agent,
      completed_at,
      entries: turn.entries,
      ...turn.hashes,
      started_at: turn.started,
      stop_reason,
      timestamp: turn.started,
      turn: turn.id,
      usage,
    },
  };
}

const RUN_ENDS: ReadonlyMap<string, "failed" | "cancelled"> = new Map([
  ["cancelled", "cancelled"],
  ["refusal", "failed"],
  ["error", "failed"],
  ["interrupted", "failed"],
]);

/** The status of a run whose turn ended so. */
export function runEnd(stop_reason: string): "completed" | "failed" | "cancelled" {
  return RUN_ENDS.get(stop_reason) ?? "completed";
}
