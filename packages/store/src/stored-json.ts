import { readJson } from "@reins/kit/json";

/**
 * Parses JSON that was stored by us, and so is what its writer says. `JSON.parse` can misread names with escapes
 * (`@reins/kit` says how), and stored rows hold names that agents chose; a text without a backslash has no escape.
 */
export function parseStored<Stored = unknown>(text: string): Stored {
  if (!text.includes("\\")) return JSON.parse(text);
  // The type is that of the rows, which their writer checked.
  return readJson(text, Number).value as Stored;
}
