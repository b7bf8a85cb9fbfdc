import { closeSync, constants, ftruncateSync, openSync, rmSync, writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { hasCode } from "@reins/kit";
import { MarkFile } from "@reins/store";
import { z } from "zod";
import type { Hole } from "./logged-event.ts";
import type { Run } from "./tables.ts";

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;

/** One of the two files that take turns. */
interface Part {
  readonly path: string;
  readonly file: number;
  size: number;
  /** The last that was written into it. */
  mark: number;
}

/** From this size on it is the other file's turn. */
const PART_BYTES = 4 << 20;
const MARK = "log.mark";
/** The last places of so many tenants are known without the journal. */
const MAX_MARKED = 4;
/** Longer names of tenants do not fit into a mark. */
const MAX_NAME = 64;

/**
 * Where messages are written before they are in the store, because the disk's cache has them at once and the store
 * takes a while. What a process that died left here belongs to the end of its log. Two files take turns: one is begun
 * anew when everything in it is in the store. Each run has a checksum, and the last places are in a file of their own, so
 * that what was damaged or cut off is known to be missing.
 */
export class Journal {
  readonly #partBytes: number;
  readonly #mark: MarkFile;
  /** The last places that were written lately. */
  readonly #places = new Map<string, number>();
  #left: Left;
  #current: Part;
  #other: Part;
  #turn = 0;
  #written = 0;
  #stored = 0;
  #closed = false;

  private constructor(parts: readonly [Part, Part], mark: MarkFile, left: Left, partBytes: number) {
    [this.#current, this.#other] = parts;
    this.#mark = mark;
    this.#left = left;
    this.#partBytes = partBytes;
  }

  /** Opens the journal in a folder. Nothing in it is touched before {@link begin}. */
  static async open(folder: string, partBytes = PART_BYTES): Promise<Journal> {
    const paths = ["log-a.journal", "log-b.journal"].map((name) => join(folder, name));
    const [first, second] = await Promise.all(paths.map(contentOf));
    const runs = [first, second]
      .flatMap((content) => content ?? [])
      .toSorted((one, other) => one.turn - other.turn)
      .flatMap((content) => content.runs);
    const [a = "", b = ""] = paths;
    const mark = join(folder, MARK);
    const left = { runs, places: placesIn(MarkFile.read(mark)) };
    return new Journal([partAt(a), partAt(b)], new MarkFile(mark), left, partBytes);
  }

  /** What an earlier run wrote, oldest first. Most of it, or all, is in the store. */
  get left(): readonly Run[] {
    return this.#left.runs;
  }

  /** The last places that an earlier run wrote to, of the tenants that it wrote for last. */
  get places(): ReadonlyMap<string, number> {
    return this.#left.places;
  }

  /** Begins anew, once what was left is in the store. */
  begin(): void {
    this.#left = { runs: [], places: new Map() };
    for (const part of [this.#current, this.#other]) this.#empty(part);
    this.#head();
  }

  /** Writes messages; they outlive the process from then on. Gives the mark by which {@link stored} knows them. */
  add(runs: readonly Run[]): number {
    // The number of a file that was closed may be another's by now.
    if (this.#closed) throw new Error("the log is closed");
    if (this.#current.size >= this.#partBytes && this.#other.mark <= this.#stored) this.#change();
    let text = "";
    for (const run of runs) text += textOf(run);
    this.#write(text);
    this.#written += 1;
    this.#current.mark = this.#written;
    this.#note(runs);
    return this.#written;
  }

  /** Notes that the store has everything up to a mark. */
  stored(mark: number): void {
    this.#stored = mark;
  }

  /** Lets go of the files; where everything is in the store there is nothing to keep. May be called twice. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const { file, path } of [this.#current, this.#other]) {
      closeSync(file);
      if (this.#stored === this.#written) rmSync(path, { force: true });
    }
    if (this.#stored === this.#written) this.#mark.remove();
    else this.#mark.close();
  }

  #note(runs: readonly Run[]): void {
    for (const { tenant, first, texts } of runs) {
      if (tenant.length > MAX_NAME) continue;
      this.#places.delete(tenant);
      this.#places.set(tenant, first + texts.length - 1);
      const [oldest] = this.#places.keys();
      if (this.#places.size > MAX_MARKED && oldest !== undefined) this.#places.delete(oldest);
    }
    try {
      this.#mark.write({ places: [...this.#places] });
    } catch {
      // The messages are written; an older mark only notices less.
    }
  }

  #change(): void {
    [this.#current, this.#other] = [this.#other, this.#current];
    this.#empty(this.#current);
    this.#head();
  }

  #head(): void {
    this.#turn += 1;
    this.#write(`${this.#turn}\n`);
  }

  #empty(part: Part): void {
    ftruncateSync(part.file);
    part.size = 0;
  }

  /** All of it, or nothing: what a full disk took of it is overwritten by what comes next. */
  #write(text: string): void {
    const { file, size } = this.#current;
    try {
      const length = Buffer.byteLength(text);
      const written = writeSync(file, text, size);
      this.#current.size += written;
      if (written < length) this.#writeRest(Buffer.from(text).subarray(written));
    } catch (error) {
      this.#current.size = size;
      throw error;
    }
  }

  /** A disk that is nearly full takes what it can. */
  #writeRest(bytes: Buffer): void {
    for (let written = 0; written < bytes.length; ) {
      const { file, size } = this.#current;
      const more = writeSync(file, bytes, written, bytes.length - written, size);
      written += more;
      this.#current.size += more;
    }
  }
}

function partAt(path: string): Part {
  return { path, file: openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600), size: 0, mark: 0 };
}

/** What an earlier run left. */
interface Left {
  readonly runs: readonly Run[];
  readonly places: ReadonlyMap<string, number>;
}

const Places = z.object({ places: z.array(z.tuple([z.string(), z.int()])) });

function placesIn(mark: unknown): ReadonlyMap<string, number> {
  return new Map(Places.safeParse(mark).data?.places ?? []);
}

/** The line before the messages of a run, after the checksum of the run. */
const RunHead = z.object({
  tenant: z.string(),
  session: z.string(),
  epoch: z.number(),
  at: z.number(),
  first: z.number(),
  request: z.string().optional(),
  except: z.string().optional(),
  /** How many lines follow, each a message. */
  count: z.int().positive(),
});

function textOf({ tenant, session, epoch, at, first, request, except, texts }: Run): string {
  const head = { tenant, session, epoch, at, first, request, except, count: texts.length };
  const text = `${JSON.stringify(head)}\n${texts.join("\n")}\n`;
  return `${sumOf(text)} ${text}`;
}

function sumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}

async function contentOf(path: string): Promise<{ turn: number; runs: readonly Run[] } | undefined> {
  try {
    const [turn, ...lines] = (await readFile(path, "utf8")).split("\n");
    return Number(turn) > 0 ? { turn: Number(turn), runs: runsIn(lines) } : undefined;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** The runs in lines. What is damaged is passed over, so that it is missing between those before and after it. */
function runsIn(lines: readonly string[]): Run[] {
  const runs: Run[] = [];
  for (let at = 0; at < lines.length; ) {
    const run = runAt(lines, at);
    if (run) runs.push(run);
    at += run ? 1 + run.texts.length : 1;
  }
  return runs;
}

/** The run that begins in a line, if it is whole. */
function runAt(lines: readonly string[], at: number): Run | undefined {
  const [, sum, json] = /^([0-9a-f]{8}) (\{.*)$/.exec(lines[at] ?? "") ?? [];
  const head = json === undefined ? undefined : RunHead.safeParse(valueIn(json)).data;
  if (!head) return undefined;
  const { count, ...run } = head;
  const texts = lines.slice(at + 1, at + 1 + count);
  // The last line ends, so that there is the beginning of another.
  const isWhole = texts.length === count && at + 1 + count < lines.length;
  const isRight = sumOf(`${json}\n${texts.join("\n")}\n`) === sum;
  return isWhole && isRight ? { ...run, texts } : undefined;
}

function valueIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** What a journal holds that is not in the store, and what it should hold and does not. */
interface Recovered {
  readonly runs: readonly Run[];
  readonly holes: readonly Hole[];
}

/** Sorts out what a journal holds: those runs that come after the last places, which move on, and what is missing. */
export function stillToStore(
  { left, places }: { readonly left: readonly Run[]; readonly places: ReadonlyMap<string, number> },
  lasts: Map<string, number>,
): Recovered {
  const holes: Hole[] = [];
  const reach = (tenant: string, place: number) => {
    const last = lasts.get(tenant) ?? 0;
    if (place > last) holes.push({ tenant, first: last + 1, last: place });
    lasts.set(tenant, Math.max(last, place));
  };
  const runs = left.filter(({ tenant, first, texts }) => {
    if (first <= (lasts.get(tenant) ?? 0)) return false;
    reach(tenant, first - 1);
    lasts.set(tenant, first + texts.length - 1);
    return true;
  });
  for (const [tenant, place] of places) reach(tenant, place);
  return { runs, holes };
}
