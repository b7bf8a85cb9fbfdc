import { ByteBuffer, SseParser } from "@reins/kit";
import type { CallDialect, TokenCounts } from "./dialects.ts";

/** What a call used. `estimated` where the provider did not say so for the whole response. */
export interface CountedUsage extends TokenCounts {
  readonly estimated: boolean;
}

/** The largest event, and the largest response that is no stream, that are read. */
const MAX_BYTES = 32 * 1024 * 1024;
/** What models of all vendors come to for English text and code, about. */
const CHARACTERS_PER_TOKEN = 4;
/** What a picture is taken for, and the least for another file. */
const FILE_TOKENS = 1_600;
/** How many characters of another file, as base64, are a token: about those of a PDF that is mostly text. */
const FILE_CHARACTERS_PER_TOKEN = 16;
/** A text without a space that is so long is the content of a file, where one is expected. */
const FILE_LENGTH = 4_096;
/** The members that hold files, in the dialects of all providers. */
const FILE_MEMBERS: ReadonlySet<string> = new Set(["data", "url", "image_url", "file_data"]);
const PICTURE = /^(?:data:image\/|iVBORw0KGgo|\/9j\/|R0lGOD|UklGR)/;

/** How many tokens so many characters are, about. */
function estimatedTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** How long a text is for a model, in characters of English: of other scripts, a character is up to a token. */
function lengthFor(text: string): number {
  return text.length + 1.5 * (Buffer.byteLength(text) - text.length);
}

/** How long a member is for a model, in characters of English. */
function lengthOf(name: string, text: string): number {
  if (!FILE_MEMBERS.has(name) || text.length < FILE_LENGTH || /\s/.test(text)) return lengthFor(text);
  const tokens = PICTURE.test(text) ? FILE_TOKENS : text.length / FILE_CHARACTERS_PER_TOKEN;
  return Math.max(FILE_TOKENS, tokens) * CHARACTERS_PER_TOKEN;
}

/** The texts in a value, each with the name of its member. */
function* textsIn(whole: unknown): Generator<readonly [name: string, text: string]> {
  const pending: (readonly [string, unknown])[] = [["", whole]];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [name, value] = next;
    if (typeof value === "string") yield [name, value];
    else if (Array.isArray(value)) for (const item of value) pending.push(["", item]);
    else if (typeof value === "object" && value !== null)
      for (const [inner, member] of Object.entries(value)) {
        if (typeof member !== "string") yield [inner, ""];
        if (typeof member === "string" || typeof member === "object") pending.push([inner, member]);
      }
  }
}

/** How many tokens a request is, about, without asking its provider. */
export function estimatedInput(body: unknown): number {
  let characters = 0;
  for (const [name, text] of textsIn(body)) characters += name.length + lengthOf(name, text);
  return estimatedTokens(characters);
}

/** The members of a response that its model did not write. */
const UNWRITTEN: ReadonlySet<string> = new Set(["type", "id", "role"]);

/** How long what a model wrote is, in characters of English. */
export function writtenIn(value: unknown): number {
  let characters = 0;
  for (const [name, text] of textsIn(value)) if (!UNWRITTEN.has(name)) characters += lengthOf(name, text);
  return characters;
}

/** The sum of all tokens. */
export function totalTokens({ input, output, cache_read, cache_write }: TokenCounts): number {
  return input + output + cache_read + cache_write;
}

/** How a response is read. */
interface Reading {
  /** Whether it is a stream of events, a list that is streamed, one document, or nothing that can be read. */
  readonly form: "events" | "list" | "document" | "unreadable";
  /** What the request comes to where the provider does not say. */
  readonly estimatedInput: number;
  /** The most tokens that the response may have; counted where it cannot be read. */
  readonly maxOutput: number;
  /** Whether the model goes on writing once the agent has hung up; its longest response is counted then, unless the end is read. */
  readonly goesOn?: boolean;
}

/** What ends the streams of OpenAI, and is no JSON. */
const DONE = "[DONE]";

/**
 * Reads what a response says of its usage while it passes. Never fails: what it cannot read is estimated, and so is what
 * follows the usage, or was written where the provider says that nothing was.
 */
export class UsageCounter {
  readonly #dialect: CallDialect;
  readonly #reading: Reading;
  readonly #events = new SseParser(MAX_BYTES);
  readonly #list = new ListParser();
  readonly #document = new ByteBuffer();
  #isReadable: boolean;
  #counts: Partial<TokenCounts> = {};
  #isFinal = false;
  /** How long all is that was written, and what of it was written since the provider counted. */
  #characters = 0;
  #uncounted = 0;

  constructor(dialect: CallDialect, reading: Reading) {
    this.#dialect = dialect;
    this.#reading = reading;
    this.#isReadable = reading.form !== "unreadable";
  }

  /** Reads the next bytes. */
  push(chunk: Uint8Array): void {
    if (!this.#isReadable) return;
    try {
      const { form } = this.#reading;
      if (form === "events") for (const { data } of this.#events.push(chunk)) this.#read(data ?? DONE);
      else if (form === "list") for (const text of this.#list.push(chunk)) this.#read(text);
      else if (this.#document.length + chunk.length > MAX_BYTES) this.#giveUp();
      else this.#document.add(chunk);
    } catch {
      this.#giveUp();
    }
  }

  /** What was used so far, at least about. */
  get soFar(): TokenCounts {
    const { cache_read = 0, cache_write = 0 } = this.#counts;
    const written = estimatedTokens(this.#characters);
    const since = this.#isFinal ? estimatedTokens(this.#uncounted) : 0;
    const output = Math.max((this.#output ?? 0) + since, written);
    return { input: this.#input ?? this.#reading.estimatedInput, output, cache_read, cache_write };
  }

  /** What the whole call used, once nothing follows. */
  end(): CountedUsage {
    if (this.#document.length > 0 && !this.#read(this.#document.take().toString("utf8"))) this.#giveUp();
    const { cache_read = 0, cache_write = 0 } = this.#counts;
    const [input, output] = [this.#input, this.#output];
    if (this.#isFinal && input !== undefined && output !== undefined && this.#uncounted === 0)
      return { input, output, cache_read, cache_write, estimated: false };
    if (this.#isReadable && !this.#reading.goesOn) return { ...this.soFar, estimated: true };
    return { ...this.soFar, output: Math.max(this.soFar.output, this.#reading.maxOutput), estimated: true };
  }

  /** The input that was reported. No request is empty. */
  get #input(): number | undefined {
    const { input = 0, cache_read = 0, cache_write = 0 } = this.#counts;
    return input + cache_read + cache_write > 0 ? this.#counts.input : undefined;
  }

  /** The output that was reported. */
  get #output(): number | undefined {
    return this.#counts.output === 0 && this.#characters > 0 ? undefined : this.#counts.output;
  }

  /** Reads a document; returns whether it is one. */
  #read(text: string): boolean {
    const document = jsonOf(text);
    if (document === undefined) {
      if (text !== DONE) this.#write(lengthFor(text));
      return false;
    }
    const { counts, isFinal = false, characters = 0 } = this.#dialect.note(document);
    this.#write(characters);
    if (counts) {
      this.#counts = { ...this.#counts, ...counts };
      this.#uncounted = 0;
    }
    this.#isFinal ||= isFinal;
    return true;
  }

  #write(characters: number): void {
    this.#characters += characters;
    this.#uncounted += characters;
  }

  #giveUp(): void {
    this.#isReadable = false;
    this.#document.clear();
  }
}

/** A JSON document; `undefined` for what is none. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPEN: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSE: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Finds the objects of a JSON list while it arrives. */
class ListParser {
  readonly #object = new ByteBuffer();
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  *push(chunk: Uint8Array): Generator<string> {
    let start = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (this.#isText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#isText = false;
      } else if (byte === QUOTE) this.#isText = true;
      else if (OPEN.has(byte)) {
        this.#depth += 1;
        if (this.#depth === 2) start = at;
      } else if (CLOSE.has(byte)) {
        this.#depth -= 1;
        if (this.#depth !== 1) continue;
        this.#object.add(chunk.subarray(start, at + 1));
        yield this.#object.take().toString("utf8");
        start = at + 1;
      }
    }
    if (this.#depth < 2) return;
    if (this.#object.length + chunk.length > MAX_BYTES) throw new Error("an object of the list is too large");
    this.#object.add(chunk.subarray(start));
  }
}
