import { exactJson } from "@reins/ledger";
import { type Effect, isManifest, type SimpleCommand } from "@reins/policy";
import { SupervisorError } from "../errors.ts";
import type { Approval } from "./approval.ts";
import { type Grantable, type Keyed, peopleNeeded } from "./request.ts";

/** Programs that run whatever they are given: what begins with them says nothing about what is run. */
const CARRIERS: ReadonlySet<string> = new Set(
  `sh bash zsh dash ksh fish csh tcsh busybox env sudo doas su xargs find eval exec command builtin nohup nice ionice time
   timeout setsid stdbuf strace ltrace watch parallel ssh chroot unshare nsenter docker podman kubectl script expect
   osascript powershell pwsh cmd rm dd mkfs shred curl wget nc ncat socat scp sftp rsync`.split(/\s+/),
);
/** Interpreters, of which the program that they run has to be named. */
const INTERPRETERS = /^(?:node|deno|bun|python[\d.]*|pypy[\d.]*|perl|ruby|php|lua|Rscript|java|tsx|ts-node)$/;
/** Programs that do one thing, which need no second word. */
const RUNNERS: ReadonlySet<string> = new Set([
  "make",
  "pytest",
  "jest",
  "vitest",
  "mocha",
  "tsc",
  "eslint",
  "ruff",
  "mypy",
  "phpunit",
  "rspec",
]);
const MOST_WORDS = 32;
const MOST_OFFERED = 4;

/** The longest prefixes first: the bindings under which a grant for the beginning of a command may stand. */
export function prefixBindings(
  asked: Grantable,
  keyed: Keyed,
): { readonly prefix: readonly string[]; readonly binding: string }[] {
  const { words = [] } = asked.command ?? {};
  const found = [];
  for (let length = Math.min(words.length, MOST_WORDS); length > 0; length -= 1) {
    const prefix = words.slice(0, length);
    if (prefixFault(prefix) !== undefined || !words.slice(length).every(staysHere)) continue;
    found.push({ prefix, binding: prefixBinding(asked, prefix, keyed) });
  }
  return found;
}

/** What a grant for the beginning of a command counts for: whatever follows it, in this folder, under these manifests. */
export function prefixBinding(asked: Grantable, prefix: readonly string[], keyed: Keyed): string {
  const { tenant, user, agent, chain, enforcement, event_type, facts, cwd, command } = asked;
  const manifests = Object.entries(asked.input_state ?? {}).filter(([path]) => isManifest(path));
  return keyed.digest(
    "grant",
    exactJson({
      ...{ tenant, user, agent, chain, enforcement, event_type, tool: facts.tool, cwd, prefix },
      ...(command?.folder !== undefined && { folder: command.folder }),
      manifests: Object.fromEntries(manifests),
      ...peopleNeeded(asked),
    }),
  );
}

/** Whether what a command does beside running is no more than what the grant was given for, or stays in the workspace. */
export function isCovered(effects: readonly Effect[], granted: readonly Effect[]): boolean {
  const known = new Set(granted.map((effect) => exactJson(effect)));
  return effects.every((effect) => {
    if (effect.kind === "exec") return !effect.arguments.includes(null);
    if (known.has(exactJson(effect))) return true;
    return effect.kind !== "net" && effect.place === "workspace";
  });
}

/** The beginnings of a command that can be allowed always, the longest last. */
export function offeredPrefixes({ words }: SimpleCommand): readonly (readonly string[])[] {
  const lengths = Array.from({ length: Math.min(words.length, MOST_OFFERED) }, (_, index) => index + 1);
  return lengths
    .map((length) => words.slice(0, length))
    .filter((prefix) => prefixFault(prefix) === undefined);
}

/** Refuses the beginning of a command that an approval cannot be widened to. */
export function expectPrefix({ id, command }: Approval, prefix: readonly string[]): void {
  const words = command?.words;
  if (!words)
    throw new SupervisorError(
      "invalid",
      `the approval ${id} is not about a single plain command, so that no prefix of one can be allowed`,
    );
  const fault = prefix.every((word, index) => words[index] === word)
    ? prefixFault(prefix)
    : `the command does not begin with it: ${words.join(" ")}`;
  if (fault !== undefined)
    throw new SupervisorError("invalid", `"${prefix.join(" ")}" cannot be allowed always: ${fault}`);
}

/** Why the beginning of a command says too little about what is run. */
export function prefixFault([program = "", first, ...rest]: readonly string[]): string | undefined {
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (rest.length + 2 > MOST_WORDS) return `it has more than ${MOST_WORDS} words`;
  if (name === "" || CARRIERS.has(name)) return `${name} can do anything with what follows`;
  if (first === undefined) return RUNNERS.has(name) ? undefined : "name the subcommand or the script, too";
  if (first.startsWith("-")) return "name the subcommand or the script first, and not an option";
  if (INTERPRETERS.test(name) && !/[./]/.test(first)) return "name the script that is run";
  return undefined;
}

/** Whether a word that follows names nothing outside of the folder. */
function staysHere(word: string): boolean {
  return !/(?:^|[=:,@])(?:[~/]|[A-Za-z][\w+.-]*:\/\/)/.test(word) && !/(?:^|[/=:,@])\.\.(?:\/|$)/.test(word);
}
