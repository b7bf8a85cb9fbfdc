import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { crc32 } from "node:zlib";
import { errorCode } from "@reins/kit/errors";
import { StoreError } from "../store-error.ts";
import { bootId, type Mark, markBeside, readMark } from "./commit-mark.ts";
import { type DatabaseFile, openDatabase } from "./sqlite-database.ts";
import { translate } from "./threads.ts";

/** What a database lacks of what was written to it. */
export interface StoreLoss {
  /**
   * `rolled_back`: commits that were kept are gone. `tail`: the newest commits, which were not durable yet, were lost in a
   * power cut. `damaged`: some of it is not what was written. `unknown`: nothing is left to compare with.
   */
  readonly kind: "rolled_back" | "tail" | "damaged" | "unknown";
  /** For a person. */
  readonly text: string;
}

/** So many are named. */
const MAX_NAMED = 8;

/** What was found. */
export interface Examination {
  readonly losses: readonly StoreLoss[];
  /** Whether the sums of the pages are there and right. */
  readonly isSummed: boolean;
}

/** Compares a database with what is kept beside it. Call it while there is no writer; changes nothing. */
export function examine(path: string): Examination {
  const mark = markBeside(path);
  if (mark === undefined) return { losses: [], isSummed: false };
  if (mark === "damaged") {
    const text = `${path}.mark is damaged, so it cannot show whether commits are missing`;
    return { losses: [{ kind: "unknown", text }], isSummed: false };
  }
  if (!existsSync(path) || statSync(path).size + sizeOfLog(path) === 0) {
    const text = `the database is gone, and ${mark.count} commits with it`;
    return { losses: mark.count === 0 ? [] : [{ kind: "rolled_back", text }], isSummed: false };
  }
  const commits = compare(mark, countOf(path));
  const pages = existsSync(path) ? damagedPages(path) : undefined;
  const isForeign = commits.length === 0 && isTakenOver(path, mark);
  const losses = pages && pages.length > 0 && !isForeign ? [...commits, damageOf(pages)] : commits;
  return { losses, isSummed: pages?.length === 0 };
}

/** Refuses a database that lacks something, but for what a power cut may take. */
export function refuseLosses(losses: readonly StoreLoss[]): void {
  const refused = losses.filter(({ kind }) => kind === "rolled_back" || kind === "damaged");
  if (refused.length === 0) return;
  const code = refused.some(({ kind }) => kind === "rolled_back") ? "lost" : "corrupt";
  throw new StoreError(code, refused.map(({ text }) => text).join("; "));
}

function compare(mark: Mark, found: Pick<Mark, "count" | "token"> | undefined): StoreLoss[] {
  const count = found?.count ?? 0;
  if (count > mark.count || (count === mark.count && found?.token === mark.token)) return [];
  if (count === mark.count)
    return [
      { kind: "rolled_back", text: "another copy of the database was put in its place and written to" },
    ];
  const missing = mark.count - count;
  const isPowerCut = mark.boot === "" || mark.boot !== bootId();
  if (isPowerCut && count >= mark.durable)
    return [
      { kind: "tail", text: `a power cut took the last ${missing} commits, which were not yet on the disk` },
    ];
  const text = `the last ${missing} of ${mark.count} commits are missing: an older copy was put in its place, or its log (-wal) is damaged or gone`;
  return [{ kind: "rolled_back", text }];
}

/**
 * Whether another program has taken over the log of a database that was not closed in order: then the sums of its pages
 * are outdated.
 */
function isTakenOver(path: string, { closed }: Mark): boolean {
  return !closed && sizeOfLog(path) === 0;
}

function damageOf(pages: readonly number[]): StoreLoss {
  const named = pages.slice(0, MAX_NAMED).join(", ");
  const more = pages.length > MAX_NAMED ? ", …" : "";
  const what = pages.length === 1 ? "1 page of the database is" : `${pages.length} pages of the database are`;
  return { kind: "damaged", text: `${what} not what was written (${named}${more})` };
}

/** Reads without writing, so that what could still be brought back is left as it is. */
function countOf(path: string): Pick<Mark, "count" | "token"> | undefined {
  let file: DatabaseFile | undefined;
  try {
    file = openDatabase(path, true);
    return readMark(file);
  } catch (error) {
    throw translate(error);
  } finally {
    file?.close();
  }
}

function sizeOfLog(path: string): number {
  const log = `${path}-wal`;
  return existsSync(log) ? statSync(log).size : 0;
}

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
const MAGIC = Buffer.from("reins page sums\n");
/** After these come the size of a page, in four bytes, and the sums. */
const HEAD_BYTES = MAGIC.length + 4;
const SUM_BYTES = 4;
const STEP_BYTES = 1 << 20;
const MAX_PAGE_BYTES = 65_536;

/**
 * The checksum of every page of a database, in a file beside it. SQLite itself does not notice when a byte of a page is
 * not what was written. Pages that the write-ahead log holds are not looked at: the log has checksums of its own.
 *
 * A page reaches the database only by a checkpoint, and the log is begun anew only by a commit after it. So the sums are
 * brought up to date between the two, and are right at any moment at which the process or the power may go.
 */
export class PageSums {
  readonly #database: string;
  readonly #path: string;
  #file: number | undefined;

  constructor(database: string) {
    this.#database = database;
    this.#path = `${database}.sums`;
  }

  /** Takes over what the log holds, all of which was taken over into the database: to be called before the next commit. */
  update(frames: number): void {
    if (frames === 0) return;
    try {
      const { sums, pages, pageSize } = readWal(this.#database, frames);
      const file = this.#opened(pageSize);
      for (const [start, run] of runsOf(sums)) writeSync(file, run, 0, run.length, placeOf(start));
      if (pages > 0) ftruncateSync(file, placeOf(pages + 1));
      fdatasyncSync(file);
    } catch {
      // Sums that are not those of the pages would be taken for damage. Without any, the next start makes them anew.
      this.remove();
    }
  }

  /** Computes the sums of a database that has none, as it lies there. */
  build(): void {
    const pageSize = pageSizeOf(this.#database);
    if (pageSize === 0) return;
    const file = this.#opened(pageSize);
    for (const { first, bytes } of pagesOf(this.#database, pageSize)) {
      const sums = Buffer.alloc((bytes.length / pageSize) * SUM_BYTES);
      for (let index = 0; index * pageSize < bytes.length; index += 1)
        sums.writeUInt32LE(pageSum(pageAt(bytes, index, pageSize)), index * SUM_BYTES);
      writeSync(file, sums, 0, sums.length, placeOf(first));
    }
    fdatasyncSync(file);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  remove(): void {
    this.close();
    rmSync(this.#path, { force: true });
  }

  #opened(pageSize: number): number {
    if (this.#file !== undefined) return this.#file;
    this.#file = openSync(this.#path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
    if (fstatSync(this.#file).size > 0) return this.#file;
    const head = Buffer.concat([MAGIC, Buffer.alloc(4)]);
    head.writeUInt32LE(pageSize, MAGIC.length);
    writeSync(this.#file, head, 0, head.length, 0);
    return this.#file;
  }
}

/** The pages of a database that are not what was written; `undefined` without sums to compare with. */
export function damagedPages(database: string): number[] | undefined {
  const kept = sumsOf(`${database}.sums`);
  if (!kept) return undefined;
  const { sums, pageSize } = kept;
  const damaged: number[] = [];
  let seen = 0;
  const sumOf = (page: number) =>
    page * SUM_BYTES <= sums.length ? sums.readUInt32LE((page - 1) * SUM_BYTES) : 0;
  for (const { first, bytes } of pagesOf(database, pageSize)) {
    for (let index = 0; index * pageSize < bytes.length; index += 1) {
      seen = first + index;
      const sum = sumOf(seen);
      if (sum !== 0 && pageSum(pageAt(bytes, index, pageSize)) !== sum) damaged.push(seen);
    }
  }
  for (let page = seen + 1; page * SUM_BYTES <= sums.length; page += 1)
    if (sumOf(page) !== 0) damaged.push(page);
  if (damaged.length === 0) return damaged;
  const inLog = readWal(database).sums;
  return damaged.filter((page) => !inLog.has(page));
}

function sumsOf(path: string): { readonly pageSize: number; readonly sums: Buffer } | undefined {
  try {
    const bytes = readFileSync(path);
    if (bytes.length < HEAD_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
    const pageSize = bytes.readUInt32LE(MAGIC.length);
    return isPageSize(pageSize) ? { pageSize, sums: bytes.subarray(HEAD_BYTES) } : undefined;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Pages of a database file, many at once; the last ones may be cut off. */
function* pagesOf(database: string, pageSize: number): Generator<{ first: number; bytes: Buffer }> {
  const file = openSync(database, "r");
  try {
    const chunk = Buffer.alloc(Math.max(STEP_BYTES, pageSize));
    for (let first = 1; ; ) {
      const read = readSync(file, chunk, 0, chunk.length, (first - 1) * pageSize);
      const whole = read - (read % pageSize);
      if (whole > 0) yield { first, bytes: chunk.subarray(0, whole) };
      if (read < chunk.length) return;
      first += whole / pageSize;
    }
  } finally {
    closeSync(file);
  }
}

function pageAt(bytes: Buffer, index: number, pageSize: number): Buffer {
  return bytes.subarray(index * pageSize, (index + 1) * pageSize);
}

/** As the head of the database says; 0 for one that is empty or holds something else. */
function pageSizeOf(database: string): number {
  const file = openSync(database, "r");
  try {
    const head = Buffer.alloc(18);
    if (readSync(file, head, 0, head.length, 0) < head.length) return 0;
    const size = head.readUInt16BE(16);
    if (size === 1) return MAX_PAGE_BYTES;
    return isPageSize(size) ? size : 0;
  } finally {
    closeSync(file);
  }
}

function isPageSize(size: number): boolean {
  return size >= 512 && size <= MAX_PAGE_BYTES && (size & (size - 1)) === 0;
}

function placeOf(page: number): number {
  return HEAD_BYTES + (page - 1) * SUM_BYTES;
}

/** Sums of pages that follow each other, to be written at once. */
function runsOf(sums: ReadonlyMap<number, number>): [first: number, bytes: Buffer][] {
  const runs: [number, Buffer][] = [];
  const pages = [...sums.keys()].toSorted((one, other) => one - other);
  for (let start = 0; start < pages.length; ) {
    let end = start + 1;
    while (end < pages.length && pages[end] === (pages[end - 1] ?? 0) + 1) end += 1;
    const run = pages.slice(start, end);
    const bytes = Buffer.alloc(run.length * SUM_BYTES);
    for (const [index, page] of run.entries()) bytes.writeUInt32LE(sums.get(page) ?? 0, index * SUM_BYTES);
    runs.push([run[0] ?? 0, bytes]);
    start = end;
  }
  return runs;
}

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const WAL_MAGIC = 0x377f0682;
/** So many frames are read at once. */
const FRAMES_AT_ONCE = 256;

/** One page as SQLite's write-ahead log holds it. */
interface Frame {
  readonly page: number;
  /** How many pages the database has after the commit that this frame ends; 0 for frames that end none. */
  readonly pages: number;
  readonly content: Buffer;
}

/** What the log of a database holds: the checksum of each page as it was written last, and the size of the database. */
interface WalPages {
  readonly sums: ReadonlyMap<number, number>;
  readonly pages: number;
  readonly pageSize: number;
}

/** Reads the log of a database, up to a number of frames or to the first that is of an earlier round. */
function readWal(database: string, frames = Number.POSITIVE_INFINITY): WalPages {
  const sums = new Map<number, number>();
  let size = 0;
  let pageSize = 0;
  for (const some of framesOf(`${database}-wal`, frames)) {
    // Most frames of a busy log are of the same few pages, of which the last counts.
    for (const { page, content } of new Map(some.map((frame) => [frame.page, frame])).values())
      sums.set(page, pageSum(content));
    pageSize = some[0]?.content.length ?? pageSize;
    size = some.findLast(({ pages }) => pages > 0)?.pages ?? size;
  }
  return { sums, pages: size, pageSize };
}

/** The checksum of a page; never 0, which stands for a page that is not known. */
function pageSum(page: Uint8Array): number {
  return crc32(page) || 1;
}

/** The frames of a log, some at a time; the contents of some are valid until the next. */
function* framesOf(path: string, most: number): Generator<readonly Frame[]> {
  const file = openIfThere(path);
  if (file === undefined) return;
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return;
    if ((header.readUInt32BE(0) & ~1) !== WAL_MAGIC) return;
    const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(8);
    const salt = header.subarray(16, 24);
    const chunk = Buffer.alloc(frameBytes * FRAMES_AT_ONCE);
    for (let position = HEADER_BYTES, seen = 0; seen < most; ) {
      const read = readSync(file, chunk, 0, chunk.length, position);
      const frames: Frame[] = [];
      for (let start = 0; start + frameBytes <= read && seen + frames.length < most; start += frameBytes) {
        if (!chunk.subarray(start + 8, start + 16).equals(salt)) break;
        frames.push({
          page: chunk.readUInt32BE(start),
          pages: chunk.readUInt32BE(start + 4),
          content: chunk.subarray(start + FRAME_HEADER_BYTES, start + frameBytes),
        });
      }
      if (frames.length > 0) yield frames;
      if (frames.length < FRAMES_AT_ONCE) return;
      seen += frames.length;
      position += read;
    }
  } finally {
    closeSync(file);
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
