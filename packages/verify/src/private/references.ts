import { COUNT, DIGEST, OBJECT } from "../json/rules.ts";
import { fits, type Shape } from "../json/shape.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";

/** Stands in a payload for content that is kept beside the ledger. */
export type Reference = { digest: string; size: number };

const REFERENCE: Shape<Reference> = { digest: DIGEST, size: COUNT };
const PRIVATE: Shape<{ $private: JsonObject }> = { $private: OBJECT };

/** Whether canonical JSON can hold a reference at all, told without walking through it. */
export function mayRefer(canonical: string): boolean {
  return canonical.includes('{"$private":{"digest":"');
}

/** The references in a payload. What only resembles one is ordinary content. */
export function* referencesIn(value: JsonValue): Generator<Reference> {
  if (typeof value !== "object" || value === null) return;
  if (fits(value, PRIVATE) && fits(value.$private, REFERENCE)) yield value.$private;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) yield* referencesIn(inner);
}
