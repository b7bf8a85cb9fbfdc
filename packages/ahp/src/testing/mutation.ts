import fc from "fast-check";

/**
 * What is put in place of something else. It holds nothing that upstream's decoder alone would take for an object
 * (an array with its members in order) or for a word (an object with that word as its only key): those are
 * accidents of upstream which the decoder repeats and no schema describes.
 */
const JUNK = [
  null,
  true,
  0,
  -1,
  1.5,
  5e-324,
  2 ** 32,
  2 ** 53,
  1e20,
  "",
  "x",
  "custom",
  "allow",
  [],
  [0],
  {},
  { x: 1 },
];

type Change = "replace" | "remove" | "add";

interface Place {
  readonly holder: object;
  readonly key: string;
}

/** A copy of each value with one random place of it replaced, removed, or given a member nobody knows. */
export function mutated(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const change = fc.constantFrom<Change>("replace", "remove", "add");
  return fc
    .tuple(values, change, fc.nat(), fc.constantFrom(...JUNK))
    .map(([value, kind, where, junk]) => mutate(value, kind, where, junk));
}

function mutate(value: unknown, kind: Change, where: number, junk: unknown): unknown {
  const root = { value: structuredClone(value) };
  const places = placesIn(root);
  const place = places[where % places.length];
  if (!place) return root.value;
  const { holder, key } = place;
  if (kind === "remove" && holder !== root) remove(holder, key);
  else if (kind === "add" && !Array.isArray(holder)) Reflect.set(holder, "member_nobody_knows", junk);
  else Reflect.set(holder, key, structuredClone(junk));
  return root.value;
}

function remove(holder: object, key: string): void {
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else Reflect.deleteProperty(holder, key);
}

function placesIn(holder: object): Place[] {
  return Object.entries(holder).flatMap(([key, held]) => [
    { holder, key },
    ...(typeof held === "object" && held !== null ? placesIn(held) : []),
  ]);
}
