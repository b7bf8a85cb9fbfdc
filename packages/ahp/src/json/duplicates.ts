/** Keys that the outermost object of a well-formed JSON text names more than once. */
export function duplicatesAtTop(text: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const duplicates = new Set<string>();
  const structure = /["{}[\]]/g;
  let depth = 0;
  for (let match = structure.exec(text); match; match = structure.exec(text)) {
    const token = match[0];
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    else {
      const end = endOfString(text, match.index);
      structure.lastIndex = end;
      if (depth !== 1 || !isKey(text, end)) continue;
      const key = String(JSON.parse(text.slice(match.index, end)));
      if (seen.has(key)) duplicates.add(key);
      seen.add(key);
    }
  }
  return duplicates;
}

/** The index after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote + 1;
}

function isEscaped(text: string, index: number): boolean {
  let before = index;
  while (text[before - 1] === "\\") before -= 1;
  return (index - before) % 2 === 1;
}

function isKey(text: string, end: number): boolean {
  const colon = /\s*:/y;
  colon.lastIndex = end;
  return colon.test(text);
}
