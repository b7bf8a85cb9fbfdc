import { type FileHandle, open } from "node:fs/promises";
import { Readable } from "node:stream";
import { createInflateRaw } from "node:zlib";
import { type ArchiveEntry, badArchive } from "./archive.ts";

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const END_LENGTH = 22;
const CENTRAL_LENGTH = 46;
const LOCAL_LENGTH = 30;
const LONGEST_COMMENT = 0xffff;
const LARGEST_DIRECTORY = 64 * 1024 * 1024;
/** In the place of a number that a zip64 record holds. */
const ELSEWHERE = 0xffffffff;

/** Reads a zip archive by its directory. Archives of 4 GiB or more, encrypted ones and rare compressions are refused. */
export async function* zipEntries(path: string): AsyncGenerator<ArchiveEntry> {
  await using file = await open(path);
  const directory = await directoryOf(file);
  for (let place = 0; place + CENTRAL_LENGTH <= directory.length; ) {
    if (directory.readUInt32LE(place) !== CENTRAL) return;
    const names = place + CENTRAL_LENGTH;
    const nameLength = directory.readUInt16LE(place + 28);
    const next = names + nameLength + directory.readUInt16LE(place + 30) + directory.readUInt16LE(place + 32);
    if (next > directory.length) throw badArchive("it is cut off");
    const named = directory.toString("utf8", names, names + nameLength);
    // Programs of Unix put the mode of a file into the upper half.
    const mode = directory.readUInt32LE(place + 38) >>> 16;
    const member = {
      isEncrypted: (directory.readUInt16LE(place + 8) & 1) !== 0,
      method: directory.readUInt16LE(place + 10),
      packed: directory.readUInt32LE(place + 20),
      size: directory.readUInt32LE(place + 24),
      offset: directory.readUInt32LE(place + 42),
    };
    if (member.isEncrypted || [member.packed, member.size, member.offset].includes(ELSEWHERE))
      throw badArchive("it is encrypted, or too large");
    const kind = kindOf(named, mode);
    const content = kind === "folder" ? Readable.from([]) : contentOf(file, member);
    const target = kind === "link" ? await targetOf(content) : undefined;
    yield {
      path: named,
      kind,
      isExecutable: (mode & 0o111) !== 0,
      ...(target !== undefined && { target }),
      content,
    };
    place = next;
  }
}

function kindOf(name: string, mode: number): ArchiveEntry["kind"] {
  const type = mode & 0o170000;
  if (type === 0o120000) return "link";
  if (name.endsWith("/") || type === 0o040000) return "folder";
  return type === 0 || type === 0o100000 ? "file" : "other";
}

async function directoryOf(file: FileHandle): Promise<Buffer> {
  const { size } = await file.stat();
  const tail = await read(
    file,
    Math.max(0, size - END_LENGTH - LONGEST_COMMENT),
    Math.min(size, END_LENGTH + LONGEST_COMMENT),
  );
  for (let place = tail.length - END_LENGTH; place >= 0; place -= 1) {
    if (tail.readUInt32LE(place) !== END) continue;
    const [length, offset] = [tail.readUInt32LE(place + 12), tail.readUInt32LE(place + 16)];
    if (length > LARGEST_DIRECTORY || offset + length > size) throw badArchive("its directory is damaged");
    return read(file, offset, length);
  }
  throw badArchive("it is no zip archive");
}

interface Member {
  readonly method: number;
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
}

async function* contentOf(
  file: FileHandle,
  { method, packed, size, offset }: Member,
): AsyncGenerator<Buffer> {
  const header = await read(file, offset, LOCAL_LENGTH);
  if (header.readUInt32LE(0) !== LOCAL) throw badArchive("it is damaged");
  const start = offset + LOCAL_LENGTH + header.readUInt16LE(26) + header.readUInt16LE(28);
  const raw =
    packed === 0
      ? Readable.from([])
      : file.createReadStream({ start, end: start + packed - 1, autoClose: false });
  if (method !== 0 && method !== 8) throw badArchive("it is compressed in a way that is not known");
  const source: AsyncIterable<Buffer> = method === 8 ? raw.pipe(createInflateRaw()) : raw;
  let left = size;
  for await (const chunk of source) {
    left -= chunk.length;
    if (left < 0) throw badArchive("a file in it is larger than it says");
    yield chunk;
  }
  if (left !== 0) throw badArchive("it is cut off");
}

async function targetOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) {
    pieces.push(piece);
    if (pieces.reduce((total, { length }) => total + length, 0) > 4_096)
      throw badArchive("a link in it is too long");
  }
  return Buffer.concat(pieces).toString("utf8");
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, position);
  if (bytesRead < length) throw badArchive("it is cut off");
  return buffer;
}
