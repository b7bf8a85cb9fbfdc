import { posix } from "node:path";
import { inflateSync } from "node:zlib";
import type { FilePort } from "../files.ts";

type ObjectType = "commit" | "tree" | "blob" | "tag";

export interface GitObject {
  readonly type: ObjectType;
  readonly bytes: Uint8Array;
}

/** Thrown where git's files do not hold the result, or the lookup would take too long. */
export class Unclear extends Error {}

/** More objects than this are not looked at for one action. */
const MOST_OBJECTS = 3_000;
const OBJECT_LIMIT = 8 * 1_024 * 1_024;
const MOST_PACKS = 64;
const MOST_STORES = 4;
const LOOSE_LIMIT = 4_096;
/** Names of a pack that begin with the same byte. */
const NAMES_LIMIT = 2 * 1_024 * 1_024;
const DELTA_LIMIT = 256;
const TYPES: readonly (ObjectType | undefined)[] = [undefined, "commit", "tree", "blob", "tag"];
const [OFFSET_DELTA, NAME_DELTA] = [6, 7];

interface Packed {
  readonly pack: string;
  readonly offset: number;
}

interface Entry {
  readonly type: number;
  readonly size: number;
  readonly data: number;
  readonly base: Packed | string | undefined;
}

/** The objects of a repository, read without running git: loose ones, and those in packs. */
export class ObjectStore {
  readonly #files: FilePort;
  readonly #folder: string;
  readonly #known = new Map<string, Promise<GitObject | undefined>>();
  #folders: Promise<readonly string[]> | undefined;
  #left = MOST_OBJECTS;

  /** @param folder that of the objects */
  constructor(files: FilePort, folder: string) {
    this.#files = files;
    this.#folder = folder;
  }

  read(hash: string): Promise<GitObject | undefined> {
    let found = this.#known.get(hash);
    if (found === undefined) {
      this.#left -= 1;
      if (this.#left < 0) throw new Unclear("more of the history would have to be looked at than is");
      found = this.#read(hash);
      this.#known.set(hash, found);
    }
    return found;
  }

  /** Every object whose name begins so. */
  async named(start: string): Promise<readonly string[]> {
    const found = new Set<string>();
    for (const folder of await this.#stores()) {
      for (const name of await this.#loose(folder, start)) found.add(name);
      for (const pack of await this.#packs(folder))
        for (const { name } of await this.#inPack(pack, start)) found.add(name);
    }
    return [...found];
  }

  async #read(hash: string): Promise<GitObject | undefined> {
    for (const folder of await this.#stores()) {
      const path = posix.join(folder, hash.slice(0, 2), hash.slice(2));
      const bytes = await this.#files.bytes(path, OBJECT_LIMIT);
      if (bytes) return looseObject(bytes);
      if ((await this.#files.lstat(path)) !== undefined) return { type: "blob", bytes: new Uint8Array() };
      for (const pack of await this.#packs(folder)) {
        const [found] = await this.#inPack(pack, hash);
        if (found) return this.#packedObject(found, 0);
      }
    }
    return undefined;
  }

  /** This folder of objects, and those that it borrows from. */
  #stores(): Promise<readonly string[]> {
    this.#folders ??= this.#borrowed();
    return this.#folders;
  }

  async #borrowed(): Promise<readonly string[]> {
    const folders = [this.#folder];
    for (const folder of folders) {
      const text = (await this.#files.readStart(posix.join(folder, "info/alternates"), 4_096)) ?? "";
      folders.push(
        ...text
          .split("\n")
          .filter((line) => line !== "" && !line.startsWith("#"))
          .map((line) => posix.resolve(folder, line)),
      );
      if (folders.length > MOST_STORES) throw new Unclear("the repository borrows from many others");
    }
    return folders;
  }

  async #loose(folder: string, start: string): Promise<readonly string[]> {
    const inside = posix.join(folder, start.slice(0, 2));
    if ((await this.#files.lstat(inside)) === undefined) return [];
    const entries = await this.#files.list(inside, LOOSE_LIMIT);
    if (entries === undefined) throw new Unclear("the repository has very many objects");
    return entries.map(({ name }) => start.slice(0, 2) + name).filter((name) => name.startsWith(start));
  }

  async #packs(folder: string): Promise<readonly string[]> {
    const inside = posix.join(folder, "pack");
    if ((await this.#files.lstat(inside)) === undefined) return [];
    const entries = await this.#files.list(inside, MOST_PACKS * 8);
    const packs = entries?.filter(({ name }) => name.endsWith(".idx"));
    if (packs === undefined || packs.length > MOST_PACKS)
      throw new Unclear("the repository has very many packs");
    return packs.map(({ name }) => posix.join(inside, name.slice(0, -".idx".length)));
  }

  /** The objects of a pack whose names begin so, by its index of version 2. */
  async #inPack(pack: string, start: string): Promise<readonly (Packed & { readonly name: string })[]> {
    const index = `${pack}.idx`;
    const head = await this.#slice(index, 0, 8 + 1_024);
    if (head.getUint32(0) !== 0xff744f63 || head.getUint32(4) !== 2)
      throw new Unclear("a pack has an index of a kind that is not known");
    const first = Number.parseInt(start.slice(0, 2), 16);
    const [from, to] = [first === 0 ? 0 : head.getUint32(4 + first * 4), head.getUint32(8 + first * 4)];
    const total = head.getUint32(8 + 255 * 4);
    if (to === from) return [];
    if ((to - from) * 20 > NAMES_LIMIT) throw new Unclear("a pack has very many objects");
    const names = await this.#slice(index, 1_032 + from * 20, (to - from) * 20);
    const bytes = Buffer.from(names.buffer, names.byteOffset, names.byteLength);
    const found: (Packed & { readonly name: string })[] = [];
    for (let at = 0; at < to - from; at += 1) {
      const name = bytes.toString("hex", at * 20, at * 20 + 20);
      if (!name.startsWith(start)) continue;
      const place = (await this.#slice(index, 1_032 + total * 24 + (from + at) * 4, 4)).getUint32(0);
      const offset =
        place < 0x80000000
          ? place
          : Number(
              (await this.#slice(index, 1_032 + total * 28 + (place - 0x80000000) * 8, 8)).getBigUint64(0),
            );
      found.push({ pack, offset, name });
    }
    return found;
  }

  async #packedObject(at: Packed, depth: number): Promise<GitObject | undefined> {
    if (depth > DELTA_LIMIT) throw new Unclear("an object is kept in very many steps");
    const { type, size, data, base } = await this.#entry(at);
    if (type === 3) return { type: "blob", bytes: new Uint8Array() };
    if (size > OBJECT_LIMIT) throw new Unclear("an object is very large");
    if (base === undefined) {
      const whole = TYPES[type];
      if (whole === undefined) throw new Unclear("an object is of a kind that is not known");
      return { type: whole, bytes: await this.#inflated(at, data, size) };
    }
    const under =
      typeof base === "string" ? await this.read(base) : await this.#packedObject(base, depth + 1);
    if (under === undefined || under.type === "blob") return under;
    return { type: under.type, bytes: applyDelta(under.bytes, await this.#inflated(at, data, size)) };
  }

  async #entry({ pack, offset }: Packed): Promise<Entry> {
    const head = await this.#slice(`${pack}.pack`, offset, 64, true);
    let [at, byte] = [1, head.getUint8(0)];
    const type = (byte >> 4) & 7;
    let size = byte & 15;
    for (let scale = 16; byte >= 0x80; scale *= 128, at += 1) {
      byte = head.getUint8(at);
      size += (byte & 0x7f) * scale;
    }
    if (type === NAME_DELTA) {
      const name = Buffer.from(head.buffer, head.byteOffset + at, 20).toString("hex");
      return { type, size, data: offset + at + 20, base: name };
    }
    if (type !== OFFSET_DELTA) return { type, size, data: offset + at, base: undefined };
    byte = head.getUint8(at);
    let back = byte & 0x7f;
    for (at += 1; byte >= 0x80; at += 1) {
      byte = head.getUint8(at);
      back = (back + 1) * 128 + (byte & 0x7f);
    }
    return { type, size, data: offset + at, base: { pack, offset: offset - back } };
  }

  async #inflated({ pack }: Packed, from: number, size: number): Promise<Uint8Array> {
    // What does not shrink grows by less than this.
    const packed = await this.#slice(`${pack}.pack`, from, size + Math.ceil(size / 512) + 128, true);
    return inflateSync(Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength), {
      maxOutputLength: Math.max(1, size),
    });
  }

  async #slice(path: string, from: number, length: number, mayEnd = false): Promise<DataView> {
    const bytes = await this.#files.slice(path, from, length);
    if (!bytes || (!mayEnd && bytes.length < length)) throw new Unclear("a pack could not be read");
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}

function looseObject(bytes: Uint8Array): GitObject {
  const whole = inflateSync(bytes, { maxOutputLength: OBJECT_LIMIT });
  const end = whole.indexOf(0);
  const type = whole.toString("latin1", 0, end).split(" ")[0];
  const known = TYPES.find((one) => one === type);
  if (known === undefined) throw new Unclear("an object is of a kind that is not known");
  return { type: known, bytes: whole.subarray(end + 1) };
}

/** Puts an object together from another one and what is different. */
function applyDelta(base: Uint8Array, delta: Uint8Array): Uint8Array {
  let at = 0;
  const next = (): number => {
    const byte = delta[at];
    if (byte === undefined) throw new Unclear("an object is damaged");
    at += 1;
    return byte;
  };
  const length = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = next();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  length();
  const size = length();
  if (size > OBJECT_LIMIT) throw new Unclear("an object is very large");
  const result = new Uint8Array(size);
  for (let to = 0; to < size; ) {
    const sign = next();
    if (sign < 0x80) {
      if (sign === 0 || at + sign > delta.length) throw new Unclear("an object is damaged");
      result.set(delta.subarray(at, at + sign), to);
      at += sign;
      to += sign;
      continue;
    }
    const part = (bits: readonly number[], first: number): number =>
      bits.reduce((sum, bit) => sum + ((sign & (1 << (first + bit))) === 0 ? 0 : next() * 256 ** bit), 0);
    const from = part([0, 1, 2, 3], 0);
    const count = part([0, 1, 2], 4) || 0x10000;
    if (from + count > base.length || to + count > size) throw new Unclear("an object is damaged");
    result.set(base.subarray(from, from + count), to);
    to += count;
  }
  return result;
}
