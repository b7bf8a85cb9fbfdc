import { type ArchiveEntry, badArchive } from "./archive.ts";

const BLOCK = 512;
const LONGEST_HEADER = 64 * 1024;
const KINDS: Readonly<Record<string, ArchiveEntry["kind"]>> = {
  "0": "file",
  "\0": "file",
  "7": "file",
  "5": "folder",
  "2": "link",
};

/** Reads a tar archive: ustar, with the long names of GNU and of pax. */
export async function* tarEntries(source: AsyncIterable<Uint8Array>): AsyncGenerator<ArchiveEntry> {
  const blocks = new Blocks(source);
  try {
    let extended: { path?: string; target?: string; size?: number } = {};
    for (;;) {
      const header = await blocks.take(BLOCK);
      // The end is two empty blocks; some programs leave them away.
      if (header === undefined || header.every((byte) => byte === 0)) return;
      checkSum(header);
      const type = header.toString("latin1", 156, 157);
      const size = extended.size ?? numberAt(header, 124, 12);
      if (type === "x" || type === "g" || type === "L" || type === "K") {
        const text = await blocks.text(size);
        if (type === "x") extended = { ...extended, ...paxOf(text) };
        else if (type !== "g") extended[type === "L" ? "path" : "target"] = untilNul(text);
        continue;
      }
      const prefix = textAt(header, 345, 155);
      const name = textAt(header, 0, 100);
      const isUstar = header.toString("latin1", 257, 262) === "ustar";
      const content = blocks.content(KINDS[type] === "file" ? size : 0);
      yield {
        path: extended.path ?? (isUstar && prefix !== "" ? `${prefix}/${name}` : name),
        kind: KINDS[type] ?? "other",
        isExecutable: (numberAt(header, 100, 8) & 0o111) !== 0,
        target: extended.target ?? textAt(header, 157, 100),
        content,
      };
      for await (const _ of content);
      extended = {};
    }
  } finally {
    await blocks.close();
  }
}

function checkSum(header: Buffer): void {
  const sum = header.reduce((total, byte, place) => total + (place >= 148 && place < 156 ? 32 : byte), 0);
  if (sum !== numberAt(header, 148, 8)) throw badArchive("it is damaged");
}

function textAt(header: Buffer, start: number, length: number): string {
  return untilNul(header.toString("utf8", start, start + length));
}

function untilNul(text: string): string {
  const end = text.indexOf("\0");
  return end < 0 ? text : text.slice(0, end);
}

function numberAt(header: Buffer, start: number, length: number): number {
  // Files too large for octal digits are too large for us.
  const text = textAt(header, start, length).trim();
  if (!/^[0-7]*$/.test(text)) throw badArchive("it is damaged");
  return Number.parseInt(text || "0", 8);
}

/** The members of a pax header that count: each is `length name=value` and a line feed. */
function paxOf(text: string): { path?: string; target?: string; size?: number } {
  const members = text.split("\n").map((line) => /^\d+ ([^=]+)=(.*)$/s.exec(line) ?? []);
  const named = new Map(members.map(([, name = "", value = ""]) => [name, value]));
  const [path, target, size] = ["path", "linkpath", "size"].map((name) => named.get(name));
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw badArchive("it is damaged");
  return {
    ...(path !== undefined && { path }),
    ...(target !== undefined && { target }),
    ...(size !== undefined && { size: Number(size) }),
  };
}

/** Cuts a stream into pieces of wanted lengths. */
class Blocks {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  /** So many bytes; undefined at the end. */
  async take(length: number): Promise<Buffer | undefined> {
    const pieces: Uint8Array[] = [];
    let left = length;
    while (left > 0) {
      const piece = await this.#next(left);
      if (!piece) {
        if (pieces.length === 0) return undefined;
        throw badArchive("it is cut off");
      }
      pieces.push(piece);
      left -= piece.length;
    }
    return Buffer.concat(pieces);
  }

  /** The content of a header that is text. */
  async text(size: number): Promise<string> {
    if (size > LONGEST_HEADER) throw badArchive("a name in it is too long");
    const padded = await this.take(Math.ceil(size / BLOCK) * BLOCK);
    return padded?.toString("utf8", 0, size) ?? "";
  }

  /** The content of a file, with what fills its last block read and dropped. A reader that stops early can go on later. */
  content(size: number): AsyncIterable<Uint8Array> {
    let left = size;
    let padding = (BLOCK - (size % BLOCK)) % BLOCK;
    const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
      if (left > 0) {
        const value = await this.#next(left);
        if (!value) throw badArchive("it is cut off");
        left -= value.length;
        return { value, done: false };
      }
      for (; padding > 0; ) padding -= (await this.#next(padding))?.length ?? padding;
      return { value: undefined, done: true };
    };
    return { [Symbol.asyncIterator]: () => ({ next }) };
  }

  async #next(most: number): Promise<Uint8Array | undefined> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#source.next();
      if (done) return undefined;
      this.#rest = value;
    }
    const piece = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(piece.length);
    return piece;
  }
}
