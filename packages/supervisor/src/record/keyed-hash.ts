import { createHmac, createSecretKey, hash, type KeyObject } from "node:crypto";

/** What SHA-256 takes in at a time, and what comes out, in bytes. */
const BLOCK = 64;
const DIGEST = 32;
/** Room for the texts that are met again and again; a UTF-16 unit takes at most three bytes. */
const ROOM = 8 * 1_024;
/** What RFC 2104 mixes the key with. */
const [INNER, OUTER] = [0x36, 0x5c];

/**
 * HMAC-SHA-256 of texts with one key of at most 64 bytes. For texts of usual length it is put together from two hashes
 * made in one step: this runs for every verdict, and `createHmac` makes several objects each time, which on a busy
 * thread takes many times as long.
 */
export class KeyedHash {
  readonly #key: KeyObject;
  /** The key as each of the two hashes begins with it, and room for what follows. */
  readonly #inner = Buffer.alloc(BLOCK + ROOM);
  readonly #outer = Buffer.alloc(BLOCK + DIGEST);

  constructor(key: Buffer) {
    if (key.length > BLOCK) throw new RangeError(`a key of ${key.length} bytes is longer than a block`);
    this.#key = createSecretKey(key);
    for (let index = 0; index < BLOCK; index += 1) {
      this.#inner[index] = (key[index] ?? 0) ^ INNER;
      this.#outer[index] = (key[index] ?? 0) ^ OUTER;
    }
  }

  /** The hash of a text, in hexadecimal digits. */
  of(text: string): string {
    if (text.length * 3 > ROOM) return createHmac("sha256", this.#key).update(text).digest("hex");
    const end = BLOCK + this.#inner.write(text, BLOCK);
    this.#outer.write(hash("sha256", this.#inner.subarray(0, end), "binary"), BLOCK, "binary");
    return hash("sha256", this.#outer, "hex");
  }
}
