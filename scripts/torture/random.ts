/** Random choices that a seed repeats exactly. Not for secrets. */
export interface Random {
  /** A whole number from 0 up to, not including, `bound`. */
  int(bound: number): number;
  /** True in `share` of all calls, `share` being from 0 to 1. */
  chance(share: number): boolean;
  /** One of the items, of which there is at least one. */
  pick<Item>(items: readonly Item[]): Item;
  bytes(length: number): Uint8Array;
  /** A string of `length` characters out of `alphabet`. */
  string(length: number, alphabet?: string): string;
}

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const UINT32 = 2 ** 32;

/** Chris Doty-Humphrey's sfc32, which passes PractRand, seeded with a 32-bit number. */
export function seededRandom(seed: number): Random {
  const next = sfc32(seed);
  const int = (bound: number) => {
    if (!Number.isInteger(bound) || bound < 1 || bound > UINT32) {
      throw new RangeError(`The bound has to be a whole number from 1 to 2^32, not ${bound}.`);
    }
    // Values past the last whole multiple of the bound would favour small results.
    const limit = UINT32 - (UINT32 % bound);
    for (;;) {
      const value = next();
      if (value < limit) return value % bound;
    }
  };
  return {
    int,
    chance: (share) => next() < share * UINT32,
    pick(items) {
      const index = items.length === 0 ? 0 : int(items.length);
      for (const item of items.slice(index, index + 1)) return item;
      throw new RangeError("Nothing to pick from.");
    },
    bytes: (length) => Uint8Array.from({ length }, () => next() >>> 24),
    string(length, alphabet = LETTERS) {
      const characters = [...alphabet];
      return Array.from({ length }, () => characters[int(characters.length)]).join("");
    },
  };
}

function sfc32(seed: number): () => number {
  let a = 0;
  let b = seed | 0;
  let c = 0;
  let counter = 1;
  const next = () => {
    const value = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + value) | 0;
    return value >>> 0;
  };
  // Its author's advice: the first values still show the seed.
  for (let round = 0; round < 15; round += 1) next();
  return next;
}
