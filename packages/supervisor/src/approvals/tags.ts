/**
 * The tag of every entry about an approval. The verdict that uses one carries it too: without it, the use is refused,
 * because the record would not show it.
 */
export function approvalTag(id: string): string {
  return `approval:${id}`;
}

/** The tag of every entry about a grant. */
export function grantTag(id: string): string {
  return `grant:${id}`;
}
