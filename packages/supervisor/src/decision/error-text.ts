const MAX_TEXT = 1_000;

/** What an error says, in as many words as go into a record. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.slice(0, MAX_TEXT).toWellFormed();
}
