import type { Random } from "../../../../scripts/torture/random.ts";

/** Makes something else of some bytes. */
export type ByteMutation = (bytes: Buffer, random: Random) => Buffer;

/** Mutations that know nothing of JSON. */
export const BYTE_MUTATIONS: Readonly<Record<string, ByteMutation>> = {
  "flipped bits": (bytes, random) => {
    const copy = Buffer.from(bytes);
    for (let flips = 1 + random.int(8); flips > 0 && copy.length > 0; flips -= 1) {
      const at = random.int(copy.length);
      copy[at] = (copy[at] ?? 0) ^ (1 << random.int(8));
    }
    return copy;
  },
  truncated: (bytes, random) => bytes.subarray(0, random.int(bytes.length + 1)),
  beheaded: (bytes, random) => bytes.subarray(random.int(bytes.length + 1)),
  "a piece taken out": (bytes, random) => {
    const [start, end] = piece(bytes, random);
    return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
  },
  "a piece repeated": (bytes, random) => {
    const [start, end] = piece(bytes, random);
    return Buffer.concat([bytes.subarray(0, end), bytes.subarray(start)]);
  },
  "sent twice on one line": (bytes) => Buffer.concat([bytes, bytes]),
  "half a UTF-8 character": (bytes, random) =>
    insert(
      bytes,
      Buffer.from(random.pick([[0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0x80], [0xff]])),
      random,
    ),
  "a surrogate in UTF-8": (bytes, random) => insert(bytes, Buffer.from([0xed, 0xa0, 0x80]), random),
  "a control character": (bytes, random) =>
    insert(bytes, Buffer.from([random.pick([0x00, 0x07, 0x08, 0x0b, 0x0d, 0x1b, 0x7f])]), random),
  "a line break": (bytes, random) => insert(bytes, Buffer.from("\n"), random),
  "a carriage return at its end": (bytes) => Buffer.concat([bytes, Buffer.from("\r")]),
  "a byte order mark": (bytes) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]),
  "white space around it": (bytes) => Buffer.concat([Buffer.from(" \t "), bytes, Buffer.from("  \t")]),
  "random bytes": (_, random) => Buffer.from(random.bytes(random.int(300))),
  "nothing but brackets": (_, random) => Buffer.from(random.string(random.int(400), '{}[]",:')),
};

function piece(bytes: Buffer, random: Random): [number, number] {
  const start = random.int(bytes.length + 1);
  return [start, start + random.int(Math.min(64, bytes.length - start + 1))];
}

function insert(bytes: Buffer, what: Buffer, random: Random): Buffer {
  const at = random.int(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), what, bytes.subarray(at)]);
}
