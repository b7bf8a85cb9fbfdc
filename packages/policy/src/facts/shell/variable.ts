import type { Scope } from "./scope.ts";
import { knownValue, unknownValue, type Value } from "./value.ts";

/** Variables that hold a number, whatever happens. */
export const NUMBERS: ReadonlySet<string> = new Set([
  ..."?#$!",
  "RANDOM",
  "LINENO",
  "SECONDS",
  "UID",
  "EUID",
  "PPID",
  "BASHPID",
  "EPOCHSECONDS",
  "SHLVL",
  "COLUMNS",
  "LINES",
]);

/** Names that people give to variables with something secret in them. */
const SECRET =
  /(?:^|_)(?:api_?key|key|token|secret|secrets|password|passwd|passphrase|pwd|credential|credentials|auth|private|cookie|session)(?:_|$)/i;

/** Whether the agent's environment may hold a secret under this name, and the script did not set it itself. */
export function isSecretVariable(name: string, scope: Scope): boolean {
  return name !== "PWD" && SECRET.test(name) && !scope.variables.has(name);
}

/** What a variable stands for. */
export function variableValue(name: string, scope: Scope): Value {
  if (/^[1-9]\d*$/.test(name)) return scope.positional?.[Number(name) - 1] ?? missingArgument(scope);
  const own = scope.variables.get(name);
  if (own) return own;
  if (name === "HOME") return knownValue(scope.home);
  if (name === "PWD") {
    const [folder, ...others] = scope.folders ?? [];
    return folder !== undefined && others.length === 0 ? knownValue(folder) : unknownValue(true);
  }
  const known = Object.hasOwn(scope.environment, name) ? scope.environment[name] : undefined;
  return known === undefined ? unknownValue(true) : knownValue(known);
}

function missingArgument(scope: Scope): Value {
  return scope.positional === undefined ? unknownValue(true) : knownValue("");
}
