import type { Random } from "../../../../scripts/torture/random.ts";

/** Makes another text of the text of a JSON document. */
export type JsonMutation = (text: string, random: Random) => string;

/** Stands where something is to be written that `JSON.stringify` would not write. */
const PLACEHOLDER = "@@placeholder@@";

const JUNK: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  "",
  "custom",
  [],
  [[]],
  {},
  { x: 1 },
  "2.0",
  7,
];

const NUMBERS = [
  "1e999",
  "-1e999",
  "1E400",
  "-0",
  "-0.0",
  "1.0",
  "1e2",
  "0.1e-400",
  "18446744073709551615",
  "18446744073709551616",
  "9007199254740993",
  "-9223372036854775809",
  "123456789012345678901234567890",
  "01",
  "+1",
  ".5",
  "1.",
  "0x10",
  "NaN",
  "Infinity",
];

const STRINGS = [
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"a\\ud83d"',
  '"\\u12"',
  '"\\x41"',
  '"\\ud83d\\ude00"',
  '"\\u0000"',
  "'a'",
];

const KEYS = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "",
  "id",
  "jsonrpc",
  "method",
  "params",
];

/** Mutations that keep to the grammar, or leave it on purpose. Each takes a text that is JSON. */
export const JSON_MUTATIONS: Readonly<Record<string, JsonMutation>> = {
  "a value of another type": (text, random) =>
    changed(text, random, ({ holder, key }) => Reflect.set(holder, key, random.pick(JUNK))),
  "a member taken out": (text, random) =>
    changed(text, random, ({ holder, key }) => Reflect.deleteProperty(holder, key)),
  "an unknown member": (text, random) =>
    changed(text, random, ({ holder }) =>
      Object.assign(holder, { [random.pick(KEYS.slice(1))]: random.pick(JUNK) }),
    ),
  "a number at the edge": (text, random) => planted(text, random, random.pick(NUMBERS)),
  "a string at the edge": (text, random) => planted(text, random, random.pick(STRINGS)),
  "deep nesting": (text, random) =>
    planted(text, random, nested(random.pick([100, 122, 125, 126, 127, 128, 129, 5_000]), random)),
  "a key named twice": (text, random) => {
    const keys = [...text.matchAll(/"[a-z_]+":/g)];
    if (keys.length === 0) return text;
    const { index, 0: key } = random.pick(keys);
    return `${text.slice(0, index)}${key}${JSON.stringify(random.pick(JUNK))},${text.slice(index)}`;
  },
  "an id of another kind": (text, random) =>
    text.replace(
      /"id":"[^"]*"/,
      () => `"id":${random.pick(["1", "1.0", "-5", "1e3", "9007199254740992", "null", "true", "[]", "{}"])}`,
    ),
  "a surprising method": (text, random) =>
    text.replace(
      /"method":"[^"]*"/,
      () => `"method":${JSON.stringify(random.pick([...KEYS, "ahp/", "AHP/EVENT", "rpc.x"]))}`,
    ),
  "a batch of JSON-RPC": (text) => `[${text},${text}]`,
  "positions for members": (text) => JSON.stringify(Object.values(Object(JSON.parse(text)))),
  "a list of values": (text, random) =>
    changed(text, random, ({ holder, key }) => {
      const held: unknown = Reflect.get(holder, key);
      if (typeof held === "object" && held !== null) Reflect.set(holder, key, Object.values(held));
    }),
  "a response": (text, random) =>
    text.replace(/"method":"[^"]*"/, random.pick(['"result":{}', '"error":{"code":1}'])),
  "spread over white space": (text) => JSON.stringify(JSON.parse(text), undefined, 1).replaceAll("\n", " "),
};

interface Place {
  readonly holder: object;
  readonly key: string;
}

function changed(text: string, random: Random, change: (place: Place) => unknown): string {
  const root = { value: JSON.parse(text) };
  const places = placesIn(root.value);
  if (places.length === 0) return text;
  change(random.pick(places));
  return JSON.stringify(root.value) ?? "null";
}

function planted(text: string, random: Random, what: string): string {
  const marked = changed(text, random, ({ holder, key }) => Reflect.set(holder, key, PLACEHOLDER));
  return marked.replace(JSON.stringify(PLACEHOLDER), () => what);
}

function nested(levels: number, random: Random): string {
  const objects = random.chance(0.5);
  return objects
    ? `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`
    : "[".repeat(levels) + "]".repeat(levels);
}

function placesIn(holder: unknown): Place[] {
  if (typeof holder !== "object" || holder === null) return [];
  return Object.entries(holder).flatMap(([key, held]) => [{ holder, key }, ...placesIn(held)]);
}
