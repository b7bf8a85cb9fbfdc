/** Whether a text is one of several names; in a name `*` stands for any text and `?` for any character. */
export type TextTest = (text: string) => boolean;

/** Compiles names and patterns. Plain names cost one look-up however many there are. */
export function textTest(patterns: string | readonly string[]): TextTest {
  const list = typeof patterns === "string" ? [patterns] : patterns;
  if (list.includes("*")) return () => true;
  const names = new Set(list.filter(isName));
  const globs = list.filter((pattern) => !isName(pattern)).map(globToRegExp);
  if (globs.length === 0) return (text) => names.has(text);
  return (text) => names.has(text) || globs.some((glob) => glob.test(text));
}

/** The plain names among patterns, if they are all plain. */
export function plainNames(patterns: string | readonly string[]): readonly string[] | undefined {
  const list = typeof patterns === "string" ? [patterns] : patterns;
  return list.every(isName) ? list : undefined;
}

function isName(pattern: string): boolean {
  return !/[*?]/.test(pattern);
}

function globToRegExp(pattern: string): RegExp {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`, "su");
}
