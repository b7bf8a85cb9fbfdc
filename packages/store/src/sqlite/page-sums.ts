import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { errorCode } from "@reins/kit";
import { pageSum, readWal } from "./wal-file.ts";

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
