import { closeSync, openSync, readSync } from "node:fs";
import { crc32 } from "node:zlib";
import { errorCode } from "@reins/kit";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;
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
export interface WalPages {
  readonly sums: ReadonlyMap<number, number>;
  readonly pages: number;
  readonly pageSize: number;
}

/** Reads the log of a database, up to a number of frames or to the first that is of an earlier round. */
export function readWal(database: string, frames = Number.POSITIVE_INFINITY): WalPages {
  const sums = new Map<number, number>();
  let size = 0;
  let pageSize = 0;
  for (const { page, pages, content } of framesOf(`${database}-wal`, frames)) {
    sums.set(page, pageSum(content));
    pageSize = content.length;
    if (pages > 0) size = pages;
  }
  return { sums, pages: size, pageSize };
}

/** The checksum of a page; never 0, which stands for a page that is not known. */
export function pageSum(page: Uint8Array): number {
  return crc32(page) || 1;
}

function* framesOf(path: string, most: number): Generator<Frame> {
  const file = openIfThere(path);
  if (file === undefined) return;
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return;
    if ((header.readUInt32BE(0) & ~1) !== MAGIC) return;
    const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(8);
    const salt = header.subarray(16, 24);
    const chunk = Buffer.alloc(frameBytes * FRAMES_AT_ONCE);
    for (let position = HEADER_BYTES, seen = 0; seen < most; ) {
      const read = readSync(file, chunk, 0, chunk.length, position);
      for (let start = 0; start + frameBytes <= read; start += frameBytes) {
        if (seen >= most || !chunk.subarray(start + 8, start + 16).equals(salt)) return;
        yield {
          page: chunk.readUInt32BE(start),
          pages: chunk.readUInt32BE(start + 4),
          content: chunk.subarray(start + FRAME_HEADER_BYTES, start + frameBytes),
        };
        seen += 1;
      }
      if (read < chunk.length) return;
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
