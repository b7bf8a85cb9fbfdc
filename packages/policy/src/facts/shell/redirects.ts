import { hostName } from "../net/host.ts";
import { expandText } from "./expand.ts";
import { target } from "./path-target.ts";
import type { Scope } from "./scope.ts";
import type { Input, Shell } from "./shell.ts";
import type { Redirect } from "./syntax.ts";
import { isEndless, type Value } from "./value.ts";

/** Puts down what redirections read and write, and gives what the command reads. */
export function applyRedirects(shell: Shell, redirects: readonly Redirect[], scope: Scope): Input {
  let input: Input = {};
  for (const redirect of redirects) {
    if (redirect.kind === "text") input = { text: expandText(shell, redirect.text, scope) };
    else if (redirect.target.length > 0) {
      applyFile(shell, redirect.operator, expandText(shell, redirect.target, scope), scope);
    }
  }
  return input;
}

function applyFile(shell: Shell, operator: string, value: Value, scope: Scope): void {
  if (value.isPipe) return;
  // `2>&1` copies a descriptor; `>& file` writes a file.
  if (operator.endsWith("&") && value.text !== null && /^\d+-?$|^-$/.test(value.text)) return;
  const socket = value.text === null ? null : /^\/dev\/(?:tcp|udp)\/([^/]*)/.exec(value.text);
  if (socket) {
    shell.findings.add({ kind: "net", host: hostName(socket[1] ?? "") });
    return;
  }
  const isGlob = value.text !== null && /[*?[]/.test(value.text);
  const path = target(isGlob ? { ...value, text: null } : value, scope);
  if (operator.startsWith("<") && isEndless(value)) shell.findings.isEndless = true;
  if (operator.startsWith("<")) shell.findings.add({ kind: "read", target: path, deep: false });
  else {
    const destroys = operator.includes(">>") ? "never" : "existing";
    shell.findings.add({ kind: "write", target: path, deep: false, destroys });
  }
}
