import fc from "fast-check";
import type { z } from "zod";
import { INTEGERS, type IntegerName, type Shape, shapeOf } from "../src/wire/schema.ts";

/** How property tests run: the same values every time. fast-check prints seed and path of a failure. */
export const PROPERTY = { seed: 20_260_204, numRuns: 200 } as const;

type Members = Readonly<Record<string, z.ZodType>>;

/**
 * Values of a type as a peer may send them: optional members present, absent or `null`, defaults left out or not.
 * Derived from the same shape that the decoder is derived from.
 */
export function valuesOf(schema: z.ZodType): fc.Arbitrary<unknown> {
  const shape = shapeOf(schema);
  switch (shape.kind) {
    case "text":
      return words;
    case "boolean":
      return fc.boolean();
    case "any":
      return fc.jsonValue({ maxDepth: 2 });
    case "map":
      return fc.dictionary(memberNames, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3, noNullPrototype: true });
    case "integer":
      return integers(shape.integer);
    case "f32":
      return fc.float({ noNaN: true, noDefaultInfinity: true });
    case "list":
      return fc.array(valuesOf(shape.item), { maxLength: 3 });
    case "struct":
      return objects(shape.members);
    case "optional":
    case "nullable":
      return fc.option(valuesOf(shape.inner));
    case "defaulted":
      return valuesOf(shape.inner);
    case "choice":
      return choices(shape);
    case "external":
      return fc.oneof(...Object.entries(shape.variants).map(([name, held]) => holding(name, valuesOf(held))));
    case "internal":
      return fc.oneof(
        ...Object.entries(shape.variants).map(([variant, members]) =>
          fc
            .tuple(objects(members), fc.constant({ [shape.tag]: variant }))
            .map(([held, tag]) => ({ ...held, ...tag })),
        ),
      );
  }
}

const words = fc.string({ unit: "grapheme", maxLength: 8 });

/** zod drops the member `__proto__` of a map; the decoder keeps it, and a test of its own says so. */
const memberNames = words.filter((name) => name !== "__proto__");

function integers(name: IntegerName): fc.Arbitrary<number> {
  const { least, greatest } = INTEGERS[name];
  const safe = fc.integer({
    min: Math.max(least, Number.MIN_SAFE_INTEGER),
    max: Math.min(greatest, Number.MAX_SAFE_INTEGER),
  });
  return fc.oneof({ arbitrary: safe, weight: 5 }, fc.constantFrom(least, greatest));
}

function objects(members: Members): fc.Arbitrary<Record<string, unknown>> {
  const model = Object.fromEntries(Object.entries(members).map(([key, schema]) => [key, valuesOf(schema)]));
  const requiredKeys = Object.keys(members).filter((key) => !mayBeAbsent(members[key]));
  return fc.record(model, { requiredKeys, noNullPrototype: true });
}

function mayBeAbsent(schema: z.ZodType | undefined): boolean {
  const kind = schema && shapeOf(schema).kind;
  return kind === "optional" || kind === "nullable" || kind === "defaulted";
}

function choices({ units, open }: Extract<Shape, { kind: "choice" }>): fc.Arbitrary<unknown> {
  const plain = fc.constantFrom(...units);
  return open === undefined ? plain : fc.oneof(plain, holding(open, words));
}

function holding(name: string, held: fc.Arbitrary<unknown>): fc.Arbitrary<object> {
  return held.map((value) => ({ [name]: value }));
}

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

/** A copy of each value with one random place of it replaced, removed, or given an unknown member. */
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
