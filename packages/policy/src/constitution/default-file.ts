/** The files that this package brings along for a home that has none yet. */
export type DefaultFile = "default.yaml" | "default.md" | "default-roster.jsonl" | "haak.yaml";

/** Where such a file lies. */
export function defaultFile(name: DefaultFile): URL {
  return new URL(`../../constitutions/${name}`, import.meta.url);
}
