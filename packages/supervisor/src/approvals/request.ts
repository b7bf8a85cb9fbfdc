import { exactJson } from "@reins/ledger";
import {
  type Action,
  type Effect,
  isManifest,
  type SimpleCommand,
  type Subject,
  tellingArguments,
} from "@reins/policy";
import { SupervisorError } from "../errors.ts";
import type { Commitment } from "../record/record.ts";
import { APPROVAL_OPTIONS, type Approval, type ApprovalOption } from "./approval.ts";

/** A question that the harness wants answered. */
export interface ApprovalRequest {
  /** Who asks, on whose behalf. */
  readonly subject: Subject;
  readonly event_type: string;
  readonly facts: Action;
  readonly cwd: string;
  readonly target_state: Readonly<Record<string, string>>;
  /** What the files are now that are run, read by a build tool, or sent. */
  readonly input_state?: Readonly<Record<string, string>> | undefined;
  /** The words of the action, where it is a single plain command. */
  readonly command?: SimpleCommand | undefined;
  readonly turn?: string | undefined;
  /** The user who prompted the turn, where it is not the one for whom the agent acts. */
  readonly asked_by?: string | undefined;
  readonly rule?: string | undefined;
  readonly reason: string;
  /** By default all of them; "always" only for what can be granted narrowly, and no at any rate. */
  readonly options?: readonly ApprovalOption[] | undefined;
  /** By default one person is enough. */
  readonly quorum?: number | undefined;
  /** The roles that may answer; by default the user who asks, and approvers. */
  readonly approvers?: readonly string[] | undefined;
  /** Whether the user who asks cannot agree to it. */
  readonly four_eyes?: boolean | undefined;
  /** How long the question is open; by default a day, at most a year. */
  readonly expires_ms?: number | undefined;
}

const DAY_MS = 86_400_000;
const LONGEST_MS = 365 * DAY_MS;
const MAX_QUORUM = 100;
/** The largest approval that a person can be expected to read. */
const MAX_TEXT = 1_048_576;

/** The approval that a request asks for; only its ledger entry is missing. */
export function newApproval(
  request: ApprovalRequest,
  { id, binding, now }: { readonly id: string; readonly binding: string; readonly now: Date },
): Omit<Approval, "entry"> {
  const { subject, event_type, facts, cwd, target_state, turn, rule, reason, expires_ms = DAY_MS } = request;
  const approval = {
    id,
    tenant: subject.tenant,
    user: subject.user,
    agent: subject.agent,
    chain: subject.chain,
    session: subject.session,
    ...(subject.session_key !== undefined && { session_key: subject.session_key }),
    ...(turn !== undefined && { turn }),
    event_type,
    tool: facts.tool,
    facts,
    enforcement: subject.enforcement,
    binding,
    cwd,
    target_state,
    ...(hasMembers(request.input_state) && { input_state: request.input_state }),
    ...(request.command && { command: request.command }),
    ...(rule !== undefined && { rule }),
    reason,
    options: optionsFor(request),
    quorum: quorumOf(request),
    ...(request.approvers && { approvers: request.approvers }),
    ...(request.four_eyes && { four_eyes: true }),
    ...(request.asked_by !== undefined && { asked_by: request.asked_by }),
    answers: [],
    state: "pending" as const,
    created_at: now.toISOString(),
    expires_at: new Date(now.getTime() + lifetime(expires_ms)).toISOString(),
  };
  if (JSON.stringify(approval).length > MAX_TEXT)
    throw new SupervisorError("invalid", "the action is too large to be shown to a person");
  return approval;
}

/** Denying is always on offer. */
function optionsFor({ options = APPROVAL_OPTIONS, facts }: ApprovalRequest): readonly ApprovalOption[] {
  const offered = new Set<ApprovalOption>([...options, "deny"]);
  if (!isGrantable(facts)) offered.delete("allow_always");
  return APPROVAL_OPTIONS.filter((option) => offered.has(option));
}

function hasMembers(state: ApprovalRequest["input_state"]): state is Readonly<Record<string, string>> {
  return state !== undefined && Object.keys(state).length > 0;
}

function quorumOf({ quorum = 1 }: ApprovalRequest): number {
  if (Number.isInteger(quorum) && quorum >= 1 && quorum <= MAX_QUORUM) return quorum;
  throw new SupervisorError("invalid", `a quorum is from 1 to ${MAX_QUORUM} people, not ${quorum}`);
}

function lifetime(milliseconds: number): number {
  if (milliseconds > 0) return Math.min(milliseconds, LONGEST_MS);
  throw new SupervisorError("invalid", `a question is open for a while, not for ${milliseconds} ms`);
}

/** What makes an action this one and no other. */
type Bound = Pick<
  ApprovalRequest,
  "event_type" | "facts" | "cwd" | "target_state" | "input_state" | keyof People
> & {
  readonly subject: Pick<Subject, "tenant" | "user" | "agent" | "session">;
};

/** Whose agreement a question takes. */
type People = Pick<ApprovalRequest, "quorum" | "approvers" | "four_eyes" | "asked_by">;

/** Digests with the key of a home, so that their content cannot be guessed. */
export type Keyed = Pick<Commitment, "digest">;

/**
 * What an answer counts for. Two requests have the same binding when they come from the same agent of the same user in
 * the same session, would do the same in the same folder to the same files, run and send the same content, and take the
 * same people to agree; what the agent says of it, in arguments that only describe too, plays no part.
 */
export function bindingOf(request: Bound, keyed: Keyed): string {
  const { subject, event_type, cwd, target_state, input_state = {} } = request;
  const facts = { ...foundOut(request.facts), arguments: tellingArguments(request.facts) };
  const inputs = Object.keys(input_state).length > 0 ? { input_state } : {};
  const { tenant, user, agent, session } = subject;
  const bound = { tenant, user, agent, session, event_type, facts, cwd, target_state, ...inputs };
  return keyed.digest("approval", exactJson({ ...bound, ...peopleNeeded(request) }));
}

/** Whose agreement it takes, as far as that is not what it is by default. */
function peopleNeeded({ quorum = 1, approvers, four_eyes, asked_by }: People): People {
  const takesOthers = quorum > 1 || four_eyes === true;
  return {
    ...(takesOthers && asked_by !== undefined && { asked_by }),
    ...(quorum > 1 && { quorum }),
    ...(approvers && { approvers: approvers.toSorted() }),
    ...(four_eyes && { four_eyes }),
  };
}

/** The digest of an action as the harness found it out. */
export function factsHash(facts: Action, keyed: Keyed): string {
  return keyed.digest("facts", exactJson(foundOut(facts)));
}

function foundOut({ claims: _, ...facts }: Action): Omit<Action, "claims"> {
  return facts;
}

/** What an "always" is given for: an approval, or a request before it is one. */
export type Grantable = Pick<
  Approval,
  "tenant" | "user" | "agent" | "chain" | "enforcement" | "event_type" | "facts" | "cwd"
> &
  Pick<ApprovalRequest, "quorum" | "approvers" | "four_eyes" | "asked_by" | "input_state" | "command">;

/**
 * What a grant counts for: the same agent of the same user, reached the same way and held as firmly, doing exactly the
 * same in the same folder with the same content of what is run or sent, in any session, by the word of the same people.
 * Where effects do not say all, the arguments count too.
 */
export function grantBindingOf(grantable: Grantable, keyed: Keyed): string {
  const { tenant, user, agent, chain, enforcement, event_type, facts, cwd, input_state = {} } = grantable;
  const { tool, effects, opaque, doubts } = facts;
  const who = { tenant, user, agent, chain, enforcement };
  const what = { event_type, tool, effects, opaque, doubts, cwd };
  const rest = saysAll(facts) && !runsOn(facts) ? {} : { arguments: tellingArguments(facts) };
  const inputs = Object.keys(input_state).length > 0 ? { input_state } : {};
  return keyed.digest(
    "grant",
    exactJson({ ...who, ...what, ...rest, ...inputs, ...peopleNeeded(grantable) }),
  );
}

/** Whether "always" can be narrow. What is only known when it runs may be something else the next time. */
export function isGrantable({ effects }: Action): boolean {
  return !effects.some(isOpenEnded);
}

/** Whether the effects of an action say all it does, so that its arguments may differ. */
export function saysAll({ effects, opaque, doubts }: Action): boolean {
  return !opaque && doubts.length === 0 && effects.length > 0 && !effects.some(isVague);
}

/** Whether a command, or a part of one, is left running: its effects are the same, and yet it is not. */
function runsOn({ effects, arguments: given }: Action): boolean {
  if (!effects.some(({ kind }) => kind === "exec") || typeof given !== "object" || given === null)
    return false;
  return Object.values(given).some((value) => typeof value === "string" && /(?<![&>])&(?![&>])/.test(value));
}

function isOpenEnded(effect: Effect): boolean {
  if (effect.kind === "exec") return effect.arguments.includes(null);
  return (effect.kind === "read" || effect.kind === "write") && effect.place === "unknown";
}

function isVague(effect: Effect): boolean {
  if (effect.kind === "exec") return effect.opaque;
  return effect.kind === "net" && effect.host === "*";
}

/** Programs that run whatever they are given: what begins with them says nothing about what is run. */
const CARRIERS: ReadonlySet<string> = new Set(
  `sh bash zsh dash ksh fish csh tcsh busybox env sudo doas su xargs find eval exec command builtin nohup nice ionice time
   timeout setsid stdbuf strace ltrace watch parallel ssh chroot unshare nsenter docker podman kubectl script expect
   osascript powershell pwsh cmd rm dd mkfs shred curl wget nc ncat socat scp sftp rsync`.split(/\s+/),
);
/** Interpreters, of which the program that they run has to be named. */
const INTERPRETERS = /^(?:node|deno|bun|python[\d.]*|pypy[\d.]*|perl|ruby|php|lua|Rscript|java|tsx|ts-node)$/;
/** Programs that do one thing, which need no second word. */
const RUNNERS: ReadonlySet<string> = new Set(
  "make pytest jest vitest mocha tsc eslint ruff mypy phpunit rspec".split(" "),
);
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
