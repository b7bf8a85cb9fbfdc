import { Redactor } from "./redactor.ts";

/** Takes the secrets out of a value that is kept or shown. */
export type Redact = (value: unknown) => unknown;

let known: Redactor | undefined;

/** A value for the record: every string in it well-formed and without the secrets that are known by their form. */
export function redact(value: unknown): unknown {
  return knownRedactor().value(value);
}

/** The redactor for secrets that are known by their form. */
export function knownRedactor(): Redactor {
  known ??= Redactor.create();
  return known;
}
