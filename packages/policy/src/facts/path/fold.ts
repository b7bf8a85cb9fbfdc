const PLAIN = /^[\x21-\x7e]*$/;
const LOOSE_END = /(?<![. ])[. ]+(?=\/|$)/g;

/**
 * One spelling for all the spellings that some file system takes for the same path: case, composed and decomposed
 * letters, characters that do not show, dots and spaces at the end of a name, data streams. Only for finding what is
 * guarded, never for finding what is allowed.
 */
export function fold(path: string): string {
  const composed = PLAIN.test(path)
    ? path
    : path.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  const folded = composed.toLowerCase().replace(/:[^/]*(?=\/|$)/g, "");
  return folded.replace(LOOSE_END, (end, at: number) => (folded[at - 1] === "/" || at === 0 ? end : ""));
}
