import type { Rule } from "../constitution/constitution.ts";

/** The folders under one of which a path must lie for a rule to match, each as its segments. */
export type PathTrigger = readonly (readonly string[])[];

const GLOB = /[*?[\]{}()!+@\\]/;

/**
 * The folders a rule waits for. A rule that asks for any path matching certain globs cannot match before some path lies
 * under the part of a glob that is written out. `undefined` when a rule has no such condition.
 */
export function pathTriggerOf({ condition }: Rule): PathTrigger | undefined {
  for (const quantified of [condition.paths, condition.reads, condition.writes]) {
    const match = quantified?.any?.match;
    if (match === undefined) continue;
    const folders = (typeof match === "string" ? [match] : match).map(literalFolder);
    if (folders.every((folder) => folder.length > 0 && folder.some((segment) => segment !== "")))
      return folders;
  }
  return undefined;
}

/** The segments of a glob before the first that is not plain text. An absolute one begins with an empty segment. */
function literalFolder(glob: string): string[] {
  const segments = glob.split("/");
  const first = segments.findIndex(
    (segment, index) =>
      GLOB.test(segment) || segment === "." || segment === ".." || (segment === "" && index > 0),
  );
  return first < 0 ? segments : segments.slice(0, first);
}
