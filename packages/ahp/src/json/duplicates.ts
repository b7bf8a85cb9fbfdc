/** Keys that the outermost object of a well-formed JSON text names more than once. */
export function duplicatesAtTop(text: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const duplicates = new Set<string>();
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"\s*:?|[{}[\]]/g)) {
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    else if (depth === 1 && token.endsWith(":")) {
      const key: unknown = JSON.parse(token.slice(0, -1));
      if (typeof key !== "string") continue;
      if (seen.has(key)) duplicates.add(key);
      seen.add(key);
    }
  }
  return duplicates;
}
