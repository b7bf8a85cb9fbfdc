import { ByteBuffer, SseParser } from "@reins/kit";
import type { CallDialect, TokenCounts } from "./dialects.ts";

/** What a call used. `estimated` where the provider did not say so for the whole response. */
export interface CountedUsage extends TokenCounts {
  readonly estimated: boolean;
}

/** The largest event, and the largest response that is no stream, that are read. */
const MAX_BYTES = 32 * 1024 * 1024;
/** What models of all vendors come to for text and code, about. */
const CHARACTERS_PER_TOKEN = 4;
/** What a picture or another file is taken for. */
const FILE_TOKENS = 1_600;
/** A text without a space that is so long is the content of a file. */
const FILE_LENGTH = 4_096;

/** How many tokens so many characters are, about. */
function estimatedTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** How many tokens a request is, about, without asking its provider. */
export function estimatedInput(body: unknown): number {
  let characters = 0;
  let files = 0;
  const pending: unknown[] = [body];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value === "string") {
      if (value.length >= FILE_LENGTH && !/\s/.test(value)) files += 1;
      else characters += value.length;
    } else if (Array.isArray(value)) for (const item of value) pending.push(item);
    else if (typeof value === "object" && value !== null)
      for (const [name, member] of Object.entries(value)) {
        characters += name.length;
        pending.push(member);
      }
  }
  return estimatedTokens(characters) + files * FILE_TOKENS;
}

/** The sum of all tokens. */
export function totalTokens({ input, output, cache_read, cache_write }: TokenCounts): number {
  return input + output + cache_read + cache_write;
}

/** How a response is read. */
interface Reading {
  /** Whether it is a stream of events, one document, or nothing that can be read. */
  readonly form: "events" | "document" | "unreadable";
  /** What the request comes to where the provider does not say. */
  readonly estimatedInput: number;
  /** The most tokens that the response may have; counted where it cannot be read. */
  readonly maxOutput: number;
  /** Whether the model goes on writing once the agent has hung up; its longest response is counted then, unless the end is read. */
  readonly goesOn?: boolean;
}

/** Reads what a response says of its usage while it passes. Never fails: what it cannot read is estimated. */
export class UsageCounter {
  readonly #dialect: CallDialect;
  readonly #reading: Reading;
  readonly #events = new SseParser(MAX_BYTES);
  readonly #document = new ByteBuffer();
  #isReadable: boolean;
  #counts: Partial<TokenCounts> = {};
  #isFinal = false;
  #characters = 0;

  constructor(dialect: CallDialect, reading: Reading) {
    this.#dialect = dialect;
    this.#reading = reading;
    this.#isReadable = reading.form !== "unreadable";
  }

  /** Reads the next bytes. */
  push(chunk: Uint8Array): void {
    if (!this.#isReadable) return;
    try {
      if (this.#reading.form === "events")
        for (const { data } of this.#events.push(chunk)) this.#read(data ?? "");
      else if (this.#document.length + chunk.length > MAX_BYTES) this.#giveUp();
      else this.#document.add(chunk);
    } catch {
      this.#giveUp();
    }
  }

  /** What was used so far, at least about. */
  get soFar(): TokenCounts {
    const { input = this.#reading.estimatedInput, cache_read = 0, cache_write = 0 } = this.#counts;
    const output = Math.max(this.#counts.output ?? 0, estimatedTokens(this.#characters));
    return { input, output, cache_read, cache_write };
  }

  /** What the whole call used, once nothing follows. */
  end(): CountedUsage {
    if (this.#document.length > 0) this.#read(this.#document.take().toString("utf8"));
    const { input = 0, output = 0, cache_read = 0, cache_write = 0 } = this.#counts;
    if (this.#isFinal) return { input, output, cache_read, cache_write, estimated: false };
    if (this.#isReadable && !this.#reading.goesOn) return { ...this.soFar, estimated: true };
    return { ...this.soFar, output: Math.max(this.soFar.output, this.#reading.maxOutput), estimated: true };
  }

  #read(text: string): void {
    const document = jsonOf(text);
    if (document === undefined) return;
    const { counts, isFinal = false, characters = 0 } = this.#dialect.note(document);
    this.#characters += characters;
    if (counts) this.#counts = { ...this.#counts, ...counts };
    this.#isFinal ||= isFinal;
  }

  #giveUp(): void {
    this.#isReadable = false;
    this.#document.clear();
  }
}

/** A JSON document; `undefined` for what is none, such as the `[DONE]` that ends a stream. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
