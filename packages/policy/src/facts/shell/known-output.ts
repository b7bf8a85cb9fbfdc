import { expandWord } from "./expand.ts";
import type { Scope } from "./scope.ts";
import type { Shell } from "./shell.ts";
import type { Statement } from "./syntax.ts";
import { knownValue, type Value } from "./value.ts";
import { variableValue } from "./variable.ts";

/** What a few commands print is known beforehand. */
export function knownOutput(shell: Shell, body: Statement, scope: Scope): Value | undefined {
  if (body.kind !== "command" || body.redirects.length > 0 || body.assignments.length > 0) return undefined;
  if (body.words.length > 8 || scope.tainted !== undefined) return undefined;
  // Anything that runs would be run twice here.
  if (!body.words.flat().every((part) => part.kind === "text" || part.kind === "variable")) return undefined;
  const words = body.words.flatMap((word) => expandWord(shell, word, scope));
  const texts = words.map((word) => (word.pattern === undefined ? word.text : null));
  if (texts.some((text) => text === null)) return undefined;
  const [name, ...rest] = texts.map((text) => text ?? "");
  if (name === undefined || scope.functions.has(name)) return undefined;
  if (name === "pwd" && rest.length === 0) {
    const value = variableValue("PWD", scope);
    return value.text === null ? undefined : value;
  }
  if (name === "mktemp" && rest.every((option) => option === "-d")) {
    const folder = variableValue("TMPDIR", scope).text ?? "/tmp";
    return knownValue(`${folder}/tmp.XXXXXXXXXX`);
  }
  const isPlain = rest.every((word) => !/^-|[\\\n]/.test(word));
  if (name === "echo" && isPlain) return knownValue(rest.join(" "));
  return undefined;
}
