import { parseExact } from "@reins/ahp";

/** The value of a JSON text, or something else where it is none. */
export function jsonOr(text: string, otherwise: unknown): unknown {
  try {
    return parseExact(text);
  } catch {
    return otherwise;
  }
}
