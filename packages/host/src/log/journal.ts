import { closeSync, constants, ftruncateSync, openSync, rmSync, writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { hasCode } from "../process/home/open-folder.ts";
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

/**
 * Where messages are written before they are in the store, because the disk's cache has them at once and the store
 * takes a while. What a process that died left here belongs to the end of its log. Two files take turns: one is begun
 * anew when everything in it is in the store.
 */
export class Journal {
  readonly #partBytes: number;
  #left: readonly Run[];
  #current: Part;
  #other: Part;
  #turn = 0;
  #mark = 0;
  #stored = 0;
  #closed = false;

  private constructor(parts: readonly [Part, Part], left: readonly Run[], partBytes: number) {
    [this.#current, this.#other] = parts;
    this.#left = left;
    this.#partBytes = partBytes;
  }

  /** Opens the journal in a folder. Nothing in it is touched before {@link begin}. */
  static async open(folder: string, partBytes = PART_BYTES): Promise<Journal> {
    const paths = ["log-a.journal", "log-b.journal"].map((name) => join(folder, name));
    const [first, second] = await Promise.all(paths.map(contentOf));
    const left = [first, second]
      .flatMap((content) => content ?? [])
      .toSorted((one, other) => one.turn - other.turn)
      .flatMap(({ runs }) => runs);
    const [a = "", b = ""] = paths;
    return new Journal([partAt(a), partAt(b)], left, partBytes);
  }

  /** What an earlier run wrote, oldest first. Most of it, or all, is in the store. */
  get left(): readonly Run[] {
    return this.#left;
  }

  /** Begins anew, once what was left is in the store. */
  begin(): void {
    this.#left = [];
    for (const part of [this.#current, this.#other]) this.#empty(part);
    this.#head();
  }

  /** Writes messages; they outlive the process from then on. Gives the mark by which {@link stored} knows them. */
  add(runs: readonly Run[]): number {
    // The number of a file that was closed may be another's by now.
    if (this.#closed) throw new Error("the log is closed");
    if (this.#current.size >= this.#partBytes && this.#other.mark <= this.#stored) this.#change();
    this.#mark += 1;
    let text = "";
    for (const run of runs) text += textOf(run);
    this.#write(text);
    this.#current.mark = this.#mark;
    return this.#mark;
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
      if (this.#stored === this.#mark) rmSync(path, { force: true });
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

  #write(text: string): void {
    const { file, size } = this.#current;
    const length = Buffer.byteLength(text);
    const written = writeSync(file, text, size);
    this.#current.size += written;
    if (written < length) this.#writeRest(Buffer.from(text).subarray(written));
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

/** The line before the messages of a run. */
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
  return `${JSON.stringify(head)}\n${texts.join("\n")}\n`;
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

/** The runs in lines, up to the first that is not whole: whoever wrote it died on the way. */
function runsIn(lines: readonly string[]): Run[] {
  const runs: Run[] = [];
  for (let at = 0; ; ) {
    const head = RunHead.safeParse(valueIn(lines[at]));
    if (!head.success) return runs;
    const { count, ...run } = head.data;
    const texts = lines.slice(at + 1, at + 1 + count);
    at += 1 + count;
    // The last line ends, so that there is the beginning of another.
    if (at >= lines.length || texts.some((text) => valueIn(text) === undefined)) return runs;
    runs.push({ ...run, texts });
  }
}

function valueIn(line: string | undefined): unknown {
  try {
    return JSON.parse(line ?? "");
  } catch {
    return undefined;
  }
}
