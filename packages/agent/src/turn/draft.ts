import { createHash } from "node:crypto";
import type { AssistantPart, TokenUsage } from "../history/entry.ts";
import type { ModelEvent, ModelStop } from "../models/model.ts";
import { NO_USAGE, tokensFor } from "../models/tokens.ts";

/** The answer of a model. */
export interface Answer {
  readonly id: string;
  readonly parts: readonly AssistantPart[];
  readonly stop: ModelStop;
  readonly usage: TokenUsage;
  /** Whether it became longer than any answer may be. */
  readonly isOverlong?: boolean;
}

/** An answer in progress. */
export class Draft {
  readonly id: string;
  readonly #model: string;
  readonly #newId: () => string;
  #parts: AssistantPart[] = [];
  #usage: TokenUsage = NO_USAGE;
  #length = 0;
  /** Its length at the start of the current request. */
  #before = 0;
  /** The model's ids of calls that are used. */
  readonly #used: Set<string>;

  /** Calls get another id where theirs is among `used`: a conversation with an id twice is rejected by providers. */
  constructor(id: string, model: string, newId: () => string, used: Iterable<string> = []) {
    this.id = id;
    this.#model = model;
    this.#newId = newId;
    this.#used = new Set(used);
  }

  /** In characters. */
  get length(): number {
    return this.#length;
  }

  /** The reported usage of the current request. */
  get usage(): TokenUsage {
    return this.#usage;
  }

  /** The estimated output tokens of the current request. */
  get tokens(): number {
    return tokensFor(this.#length - this.#before);
  }

  /** The text so far. */
  get text(): string {
    return this.#parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  }

  /** Adds an event of the stream. */
  add(event: Exclude<ModelEvent, { type: "end" }>): void {
    switch (event.type) {
      case "text":
      case "thinking":
        this.#say(event.type, event.text);
        break;
      case "thinking_end":
        this.#seal(event.seal);
        break;
      case "search":
        this.#parts.push({ type: "thinking", text: "", seal: { model: this.#model, data: sealOf(event) } });
        break;
      case "call":
        this.#length += event.arguments.length;
        this.#parts.push({ ...event, id: this.#unused(event.id), toolCallId: this.#newId() });
        break;
      case "usage":
        this.#usage = event.usage;
        break;
      case "progress":
    }
  }

  /** Drops what cannot be continued: calls that were not made and unfinished thoughts. */
  discardUnfinished(): void {
    this.#parts = this.#parts.filter(({ type }) => type === "text");
    this.#usage = NO_USAGE;
    this.#before = this.#length;
  }

  /** Drops everything. */
  discardAll(): void {
    this.#parts = [];
    this.discardUnfinished();
  }

  /** Completes the answer. */
  finish(stop: ModelStop, usage: TokenUsage = this.#usage): Answer {
    return { id: this.id, parts: this.#parts, stop, usage };
  }

  #unused(id: string): string {
    const unused = id === "" || this.#used.has(id) ? shortId(this.#newId()) : id;
    this.#used.add(unused);
    return unused;
  }

  #say(type: "text" | "thinking", text: string): void {
    this.#length += text.length;
    const last = this.#parts.at(-1);
    const continues = last?.type === type && (last.type !== "thinking" || last.seal === undefined);
    if (continues) this.#parts[this.#parts.length - 1] = { ...last, text: last.text + text };
    else this.#parts.push({ type, text });
  }

  #seal(data: Record<string, unknown> | undefined): void {
    if (data === undefined) return;
    const seal = { model: this.#model, data };
    const last = this.#parts.at(-1);
    if (last?.type === "thinking" && last.seal === undefined)
      this.#parts[this.#parts.length - 1] = { ...last, seal };
    else this.#parts.push({ type: "thinking", text: "", seal });
  }
}

/** An id for a call that all providers accept: nine letters and digits, which one of them requires. */
export function shortId(of: string): string {
  const number = BigInt(`0x${createHash("sha256").update(of).digest("hex")}`);
  return number.toString(36).slice(-9);
}

/** What is kept of a search of the provider: what it found, and what has to be returned. */
function sealOf({ found, seal }: Extract<ModelEvent, { type: "search" }>): Record<string, unknown> {
  return { ...seal, found };
}
