const BLOCK = 512;
/** The longest name or list of extended members of an entry. */
const MOST_EXTENDED = 64 * 1024;
/** The most headers without an entry: extended ones may follow each other. */
const MOST_HEADERS = 16;
const MOST_LEVELS = 128;

/** Thrown for an archive that is not read further; `fault` is for programs, `message` for people. */
export class TarError extends Error {
  override readonly name = "TarError";
  readonly fault: "malformed" | "too_large";

  constructor(fault: "malformed" | "too_large", message: string, options?: ErrorOptions) {
    super(`the archive ${message}`, options);
    this.fault = fault;
  }
}

/** What an entry of a tar archive says it is. */
export type TarKind =
  | "file"
  | "folder"
  | "symbolic link"
  | "hard link"
  | "device"
  | "pipe"
  | "sparse file"
  | "unknown";

/** An entry of a tar archive. Its content is read, or skipped, before the next entry is. */
export interface TarEntry {
  /** Its path as the archive says; see `tarNames`. */
  readonly path: string;
  readonly kind: TarKind;
  /** Where a link leads, as the archive says. */
  readonly target: string;
  readonly size: number;
  readonly mode: number;
  readonly content: AsyncIterable<Uint8Array>;
}

const KINDS: Readonly<Record<string, TarKind>> = {
  "0": "file",
  "\0": "file",
  "7": "file",
  "1": "hard link",
  "2": "symbolic link",
  "3": "device",
  "4": "device",
  "5": "folder",
  "6": "pipe",
  S: "sparse file",
};
/** Entries that have no content, whatever their header says of its size. */
const WITHOUT_CONTENT: ReadonlySet<string> = new Set(["1", "2", "3", "4", "5", "6"]);
const EXTENDED: ReadonlySet<string> = new Set(["x", "g", "L", "K"]);

/** Reads a tar archive (ustar, pax, GNU long names) of at most so many bytes as it arrives. */
export async function* readTar(
  source: AsyncIterable<Uint8Array>,
  mostBytes = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<TarEntry> {
  const bytes = new TarBytes(source, mostBytes);
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
      const { path = header.path, target = header.target } = extended;
      const size = WITHOUT_CONTENT.has(header.type) ? 0 : (extended.size ?? header.size);
      if (size > mostBytes) throw tooLarge(mostBytes);
      const piece = new Piece(bytes, size);
      const kind = extended.isSparse ? "sparse file" : (KINDS[header.type] ?? "unknown");
      yield {
        ...{ path, target, size, mode: header.mode },
        // An old way to say that something is a folder.
        kind: kind === "file" && path.endsWith("/") ? "folder" : kind,
        content: piece.read(),
      };
      await piece.skip();
      extended = {};
      headers = 0;
    }
  } finally {
    await bytes.close();
  }
}

/** The names of a path in an archive. Throws for one that leads out of where it is unpacked. */
export function tarNames(path: string): readonly string[] {
  if (path.includes("\0")) throw malformed("has a name with a NUL");
  if (path.startsWith("/")) throw malformed(`has the absolute path ${shown(path)}`);
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..")) throw malformed(`has the path ${shown(path)}, which leads out of it`);
  if (names.length > MOST_LEVELS) throw malformed("has a path with too many folders");
  return names;
}

/** What an extended header says of the entry after it. */
interface Extended {
  readonly path?: string;
  readonly target?: string;
  readonly size?: number;
  readonly isSparse?: boolean;
}

function malformed(what: string, options?: ErrorOptions): TarError {
  return new TarError("malformed", what, options);
}

function tooLarge(most: number): TarError {
  return new TarError("too_large", `holds more than ${most} bytes`);
}

function shown(path: string): string {
  return JSON.stringify(path.slice(0, 200));
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

interface Header {
  readonly path: string;
  readonly target: string;
  readonly size: number;
  readonly mode: number;
  readonly type: string;
}

function headerIn(block: Buffer): Header {
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  if (numberIn(block.subarray(148, 156)) !== sum) throw malformed("has a header whose checksum is wrong");
  const name = textIn(block.subarray(0, 100));
  // GNU's own format has other members where ustar has a prefix.
  const isUstar = block.toString("latin1", 257, 262) === "ustar" && block[263] === 0x30;
  const prefix = isUstar ? textIn(block.subarray(345, 500)) : "";
  return {
    path: prefix === "" ? name : `${prefix}/${name}`,
    target: textIn(block.subarray(157, 257)),
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
    throw malformed("has a name that is not UTF-8", { cause });
  }
}

function extendedIn(type: string, content: Buffer): Extended {
  if (type === "L") return { path: textIn(content) };
  if (type === "K") return { target: textIn(content) };
  const records = recordsIn(content);
  // Defaults for all entries concern their times and owners, which are not used.
  if (type === "g") return {};
  const [path, target, size] = ["path", "linkpath", "size"].map((name) => records.get(name));
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw malformed("has a number that is none");
  return {
    ...(path !== undefined && { path }),
    ...(target !== undefined && { target }),
    ...(size !== undefined && { size: Number(size) }),
    ...([...records.keys()].some((name) => name.startsWith("GNU.sparse")) && { isSparse: true }),
  };
}

/** The records of an extended header: its length, a space, the name, an equals sign, the value and a line feed. */
function recordsIn(content: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const digits = space < 0 ? "" : content.toString("latin1", at, space);
    const end = at + Number(digits);
    const equals = content.indexOf(0x3d, space);
    const isWhole = /^\d{1,6}$/.test(digits) && end <= content.length && content[end - 1] === 0x0a;
    if (!isWhole || equals < 0 || equals >= end)
      throw malformed("has an extended header that cannot be read");
    records.set(content.toString("utf8", space + 1, equals), decoded(content.subarray(equals + 1, end - 1)));
    at = end;
  }
  return records;
}

/** The content of one entry, with what fills its last block. */
class Piece {
  readonly #bytes: TarBytes;
  #left: number;
  #filling: number;

  constructor(bytes: TarBytes, size: number) {
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
class TarBytes {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #most: number;
  #held: Buffer = Buffer.alloc(0);
  #seen = 0;

  constructor(source: AsyncIterable<Uint8Array>, most: number) {
    this.#source = source[Symbol.asyncIterator]();
    this.#most = most;
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
      this.#seen += value.byteLength;
      if (this.#seen > this.#most) throw tooLarge(this.#most);
      this.#held = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      if (this.#held.length > 0) return true;
    }
  }
}
