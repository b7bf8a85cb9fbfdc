import type { SourceFile } from "./tree.ts";

/** Words of docs/glossary.md that code, comments and texts do not use. */
const BANNED: ReadonlyMap<string, RegExp> = new Map([
  ["whoever", /\bwho(m?)ever\b/gi],
  ["somebody", /\bsome(?:body|one)\b/gi],
  ["nobody", /\b(?:nobody|no one)\b/gi],
  ["is told", /\b(?:is|are|was|were|be|been|being|gets?) told\b/gi],
  ["hearer", /\bhearers?\b/gi],
  ["callOff", /\bcall(?:s|ed)?[ -]?off\b|callOff/gi],
  ["takeUp", /\b(?:take|takes|taken|took|taking)[ -]?up\b|takeUp/gi],
  ["stands on", /\bstands? on\b/gi],
  ["askLeave", /\baskLeave\b|\b(?:gives?|gave|given|asks?|without) leave\b/gi],
  ["lets through", /\blets? (?:\w+ )?(?:through|pass)\b|letsThrough/gi],
]);

/** The part of the repository that a file belongs to. */
function partOf(path: string): string {
  return /^packages\/([^/]+)\//.exec(path)?.[1] ?? path.split("/")[0] ?? "";
}

/** Every use of a banned word, as `path:line: word`. */
export function bannedWords(files: readonly SourceFile[]): readonly { part: string; use: string }[] {
  return files.flatMap(({ path, text }) => {
    if (/(^|\/)vocabulary(\.test)?\.ts$|glossary\.md$/.test(path)) return [];
    return text
      .split("\n")
      .flatMap((line, index) =>
        [...BANNED]
          .filter(([, pattern]) => line.search(pattern) >= 0)
          .map(([word]) => ({ part: partOf(path), use: `${path}:${index + 1}: ${word}` })),
      );
  });
}

/** Names that several packages declare and export, with the packages. `verify` shares nothing, on purpose. */
export function sharedNames(files: readonly SourceFile[]): ReadonlyMap<string, readonly string[]> {
  const packages = new Map<string, Set<string>>();
  for (const { path, text } of files) {
    if (!/^packages\/(?!verify\/)[^/]+\/src\//.test(path) || /\.test\.tsx?$/.test(path)) continue;
    const declared = text.matchAll(
      /^export (?:declare )?(?:abstract )?(?:async )?(?:class|interface|type|function\*?|const|enum) (\w+)/gm,
    );
    for (const [, name = ""] of declared) {
      const known = packages.get(name) ?? new Set();
      packages.set(name, known.add(partOf(path)));
    }
  }
  return new Map(
    [...packages]
      .filter(([, inPackages]) => inPackages.size > 1)
      .map(([name, inPackages]) => [name, [...inPackages].toSorted()]),
  );
}
