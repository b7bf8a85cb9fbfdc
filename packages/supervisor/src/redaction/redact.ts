import { Redactor } from "./redactor.ts";

let known: Redactor | undefined;

/** A value for the record: every string in it well-formed and without the secrets that are known by their form. */
export function redact(value: unknown): unknown {
  known ??= Redactor.create();
  return known.value(value);
}
