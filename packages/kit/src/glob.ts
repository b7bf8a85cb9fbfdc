const MOST_OPTIONS = 64;

/**
 * Compiles a glob into a test of paths: `*` and `?` within a name, `**` for any number of folders, `{a,b}` for
 * alternatives. The test takes at most the product of both lengths; `undefined` for too many alternatives.
 */
export function compilePattern(pattern: string): ((path: string) => boolean) | undefined {
  const options = alternatives(pattern.replace(/^(?:\.\/)+/, ""));
  if (!options) return undefined;
  const compiled = options.map((option) => option.split("/"));
  return (path) => compiled.some((segments) => matchesSequence(segments, path.split("/"), "**", matchesName));
}

function matchesName(pattern: string, name: string): boolean {
  return matchesSequence([...pattern], [...name], "*", (token, one) => token === "?" || token === one);
}

/** A wildcard matches as little as possible; when the rest fails, the last wildcard takes one more. */
function matchesSequence(
  parts: readonly string[],
  texts: readonly string[],
  wild: string,
  matches: (part: string, text: string) => boolean,
): boolean {
  let [at, next] = [0, 0];
  let [retry, taken] = [-1, 0];
  while (next < texts.length) {
    const part = parts[at];
    if (part === wild) {
      [retry, taken] = [at, next];
      at += 1;
    } else if (part !== undefined && matches(part, texts[next] ?? "")) {
      at += 1;
      next += 1;
    } else if (retry >= 0) {
      taken += 1;
      [at, next] = [retry + 1, taken];
    } else return false;
  }
  return parts.slice(at).every((part) => part === wild);
}

/** Expands braces, innermost first. */
function alternatives(pattern: string): readonly string[] | undefined {
  const done: string[] = [];
  const work = [pattern];
  for (let one = work.pop(); one !== undefined; one = work.pop()) {
    const close = one.indexOf("}");
    const open = close < 0 ? -1 : one.lastIndexOf("{", close);
    if (open < 0) done.push(one);
    else
      for (const option of one.slice(open + 1, close).split(","))
        work.push(one.slice(0, open) + option + one.slice(close + 1));
    if (done.length + work.length > MOST_OPTIONS) return undefined;
  }
  return done;
}
