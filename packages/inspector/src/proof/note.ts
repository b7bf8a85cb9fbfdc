/** How many entries a checkpoint covers, by what is signed and not by what is said beside it. */
export function sizeOf(note: string): number {
  return Number(note.split("\n")[1]);
}

/** The root of the tree that a checkpoint signs, base64. */
export function rootOf(note: string): string {
  return note.split("\n")[2] ?? "";
}
