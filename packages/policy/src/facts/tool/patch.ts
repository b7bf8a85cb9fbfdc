import type { Finding } from "../findings.ts";

/** Codex takes a mark for one with blanks around it, too. */
const CODEX_FILE = /^\s*\*\*\* (Add|Update|Delete) File: (.+)$/i;
const CODEX_MOVE = /^\s*\*\*\* Move to: (.+)$/i;
const CODEX_BEGIN = "*** Begin Patch";

/**
 * The files that a patch changes: in the form of Codex's `apply_patch`, or as a unified diff. `undefined` when it is
 * neither, or not well-formed.
 */
export function patchFindings(
  text: string,
  base: readonly string[] | undefined,
): readonly Finding[] | undefined {
  const lines = text.trim().split(/\r?\n/);
  if (lines[0]?.trim() === CODEX_BEGIN) return codexFindings(lines, base);
  // Codex looks for its patch behind the mark of a here-document.
  return lines.some((line) => line.trim() === CODEX_BEGIN) ? undefined : diffFindings(lines, base);
}

function change(
  path: string,
  base: readonly string[] | undefined,
  destroys: "always" | "existing" | "never",
  keeps = false,
): Finding {
  return { kind: "write", target: { text: path, base }, deep: false, destroys, keeps };
}

function codexFindings(
  lines: readonly string[],
  base: readonly string[] | undefined,
): readonly Finding[] | undefined {
  const findings: Finding[] = [];
  if (lines.at(-1)?.trim() !== "*** End Patch") return undefined;
  for (const line of lines.slice(1, -1)) {
    if (!line.trimStart().startsWith("***")) continue;
    const [, verb, path] = CODEX_FILE.exec(line) ?? [];
    const moved = CODEX_MOVE.exec(line)?.[1];
    if (path !== undefined) {
      const isDeleted = verb?.toLowerCase() === "delete";
      const destroys = isDeleted ? "always" : verb?.toLowerCase() === "add" ? "existing" : "never";
      findings.push(change(path.trim(), base, destroys, !isDeleted));
    } else if (moved !== undefined) findings.push(change(moved.trim(), base, "existing"));
    else if (line.startsWith("***") && line.trim() !== "*** End of File") return undefined;
  }
  return findings.length > 0 ? findings : undefined;
}

function diffFindings(
  lines: readonly string[],
  base: readonly string[] | undefined,
): readonly Finding[] | undefined {
  const findings: Finding[] = [];
  let hunkLeft = 0;
  for (const line of lines) {
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk) hunkLeft = Number(hunk[1] ?? 1) + Number(hunk[2] ?? 1);
    else if (hunkLeft > 0 && /^[ +-]|^$/.test(line)) hunkLeft -= /^[+-]/.test(line) ? 1 : 2;
    else {
      const path = /^(?:---|\+\+\+|rename (?:from|to)|copy (?:from|to)) (?:"?)([^\t"]+)/
        .exec(line)?.[1]
        ?.trim();
      if (path === undefined || path === "/dev/null") continue;
      // Tools differ in how many leading parts they take off.
      findings.push(change(path, base, "always", true));
      const stripped = path.replace(/^[ab]\//, "");
      if (stripped !== path) findings.push(change(stripped, base, "always", true));
    }
  }
  return findings.length > 0 ? findings : undefined;
}
