import { FileFault } from "./file-fault.ts";

const BLOCK = 512;
/** The longest name or list of extended members of an entry. */
const MOST_EXTENDED = 64 * 1024;
/** The most headers without an entry: extended ones may follow each other. */
const MOST_HEADERS = 16;
const MOST_LEVELS = 128;

/** An entry of a tar archive. Its content is read before the next entry is. */
export interface TarEntry {
  /** The names of its path, none of which leads upwards. */
  readonly names: readonly string[];
  readonly isFolder: boolean;
  readonly size: number;
  readonly mode: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** Reads a tar archive (ustar, pax, GNU long names) as it arrives. Throws for entries other than files and folders. */
export async function* readTar(
  source: AsyncIterable<Uint8Array>,
  mostBytes: number,
): AsyncGenerator<TarEntry> {
  const bytes = new Bytes(source);
  try {
    let extended: Extended = {};
    for (let headers = 1; ; headers += 1) {
      const block = await bytes.take(BLOCK, true);
      if (!block || block.every((byte) => byte === 0)) return await bytes.drain();
      if (headers > MOST_HEADERS) throw malformed("has too many headers without an entry");
      const header = headerIn(block);
      if (EXTENDED.has(header.type)) {
        if (header.size > MOST_EXTENDED) throw malformed("has a header that is too long");
        const content = await bytes.take(padded(header.size));
        extended = { ...extended, ...extendedIn(header.type, content.subarray(0, header.size)) };
        continue;
      }
      const { path = header.path, size = header.size } = extended;
      const isFolder = header.type === "5" || (FILES.has(header.type) && path.endsWith("/"));
      if (!isFolder && !FILES.has(header.type))
        throw malformed(
          `has an entry ${JSON.stringify(path)} that is ${OTHERS[header.type] ?? "neither a file nor a folder"}`,
        );
      if (size > mostBytes)
        throw new FileFault("too_large", `the archive holds more than ${mostBytes} bytes`);
      const piece = new Piece(bytes, size);
      yield { names: namesIn(path), isFolder, size, mode: header.mode, content: piece.read() };
      await piece.skip();
      extended = {};
      headers = 0;
    }
  } finally {
    await bytes.close();
  }
}

/** What an extended header says of the entry after it. */
interface Extended {
  readonly path?: string;
  readonly size?: number;
}

const EXTENDED: ReadonlySet<string> = new Set(["x", "g", "L"]);
const FILES: ReadonlySet<string> = new Set(["0", "\0", "7"]);
const OTHERS: Readonly<Record<string, string>> = {
  "1": "a hard link",
  "2": "a symbolic link",
  "3": "a device",
  "4": "a device",
  "6": "a pipe",
  K: "a link",
  S: "a sparse file",
};

function malformed(what: string): FileFault {
  return new FileFault("invalid", `the archive ${what}`);
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

interface Header {
  readonly path: string;
  readonly size: number;
  readonly mode: number;
  readonly type: string;
}

function headerIn(block: Buffer): Header {
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  if (numberIn(block.subarray(148, 156)) !== sum) throw malformed("has a header whose checksum is wrong");
  const name = textIn(block.subarray(0, 100));
  const prefix =
    block.toString("latin1", 257, 262) === "ustar" && block[263] === 0x30
      ? textIn(block.subarray(345, 500))
      : "";
  return {
    path: prefix === "" ? name : `${prefix}/${name}`,
    size: numberIn(block.subarray(124, 136)),
    mode: numberIn(block.subarray(100, 108)) & 0o777,
    type: String.fromCharCode(block[156] ?? 0),
  };
}

/** A number in octal digits or, by its highest bit, in base 256. */
function numberIn(field: Buffer): number {
  const [first = 0] = field;
  if ((first & 0x80) !== 0) {
    const value = field.subarray(1).reduce((total, byte) => total * 256 + byte, 0);
    if (first !== 0x80 || !Number.isSafeInteger(value)) throw malformed("has a number that is out of range");
    return value;
  }
  const digits = field
    .toString("latin1")
    .replace(/[\0 ]+$/, "")
    .trimStart();
  if (!/^[0-7]*$/.test(digits)) throw malformed("has a number that is none");
  return digits === "" ? 0 : Number.parseInt(digits, 8);
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The text of a field up to its end or its first NUL. */
function textIn(field: Buffer): string {
  const end = field.indexOf(0);
  return decoded(end < 0 ? field : field.subarray(0, end));
}

function decoded(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new FileFault("invalid", "the archive has a name that is not UTF-8", { cause });
  }
}

function extendedIn(type: string, content: Buffer): Extended {
  if (type === "L") return { path: textIn(content) };
  const records = recordsIn(content);
  // Defaults for all entries concern their times and owners, which are not used.
  if (type === "g") return {};
  for (const name of records.keys()) if (name.startsWith("GNU.sparse")) throw malformed("has a sparse file");
  const path = records.get("path");
  const size = records.get("size");
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw malformed("has a number that is none");
  return { ...(path !== undefined && { path }), ...(size !== undefined && { size: Number(size) }) };
}

/** The records of an extended header: its length, a space, the name, an equals sign, the value and a line feed. */
function recordsIn(content: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const length = Number(content.toString("latin1", at, space));
    const end = at + length;
    if (
      space < 0 ||
      !Number.isSafeInteger(length) ||
      end <= space ||
      end > content.length ||
      content[end - 1] !== 0x0a
    )
      throw malformed("has an extended header that cannot be read");
    const equals = content.indexOf(0x3d, space);
    if (equals < 0 || equals >= end) throw malformed("has an extended header that cannot be read");
    records.set(content.toString("utf8", space + 1, equals), decoded(content.subarray(equals + 1, end - 1)));
    at = end;
  }
  return records;
}

/** The names of a path in an archive. Throws for one that leads out of where it is unpacked. */
function namesIn(path: string): readonly string[] {
  if (path.includes("\0")) throw malformed("has a name with a NUL");
  if (path.startsWith("/")) throw malformed(`has the absolute path ${JSON.stringify(path)}`);
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..")) throw malformed(`has the path ${JSON.stringify(path)}, which leads out of it`);
  if (names.length > MOST_LEVELS) throw malformed("has a path with too many folders");
  return names;
}

/** The content of one entry, with what fills its last block. */
class Piece {
  readonly #bytes: Bytes;
  #left: number;
  #filling: number;

  constructor(bytes: Bytes, size: number) {
    this.#bytes = bytes;
    this.#left = size;
    this.#filling = padded(size) - size;
  }

  async *read(): AsyncGenerator<Uint8Array> {
    while (this.#left > 0) {
      const chunk = await this.#bytes.some(this.#left);
      this.#left -= chunk.length;
      yield chunk;
    }
  }

  async skip(): Promise<void> {
    for await (const _ of this.read());
    if (this.#filling > 0) await this.#bytes.take(this.#filling);
    this.#filling = 0;
  }
}

/** Takes bytes from a source in the portions that a reader wants. */
class Bytes {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** So many bytes; undefined at the end, where that `mayEnd`. */
  async take(count: number): Promise<Buffer>;
  async take(count: number, mayEnd: true): Promise<Buffer | undefined>;
  async take(count: number, mayEnd = false): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    for (let missing = count; missing > 0; ) {
      if (this.#held.length === 0 && !(await this.#fill())) {
        if (mayEnd && parts.length === 0) return undefined;
        throw malformed("ends too early");
      }
      const part = this.#held.subarray(0, missing);
      this.#held = this.#held.subarray(part.length);
      missing -= part.length;
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  /** The next bytes, at most so many. */
  async some(most: number): Promise<Buffer> {
    if (this.#held.length === 0 && !(await this.#fill())) throw malformed("ends too early");
    const part = this.#held.subarray(0, most);
    this.#held = this.#held.subarray(part.length);
    return part;
  }

  /** Reads what fills the archive. */
  async drain(): Promise<void> {
    while (await this.#fill());
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async #fill(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#source.next();
      if (done) return false;
      this.#held = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      if (this.#held.length > 0) return true;
    }
  }
}
