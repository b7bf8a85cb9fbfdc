import type { Action, DecisionInput, Effect, EffectKind, ExecEffect, NetEffect, Place } from "../action.ts";
import type { Condition, PlainCondition } from "../constitution/condition.ts";
import type { ToolDeclarations } from "../constitution/constitution.ts";
import { isReadableByAll } from "../facts/path/places.ts";
import type { Subject } from "../subject.ts";
import {
  anyPathTest,
  type CommandPattern,
  commandPattern,
  everyPathTest,
  graphClauses,
  type PathEffect,
  textTest,
  UNKNOWN,
} from "./pattern.ts";

/** One part of a condition, by the name it has in the file. */
export interface Clause {
  readonly name: string;
  /** Whether it looks at the subject alone, and so holds for all its actions or for none. */
  readonly subjectOnly?: boolean;
  readonly holds: (input: DecisionInput) => boolean;
}

/** What a condition is compiled for. */
interface Purpose {
  readonly tools: ToolDeclarations;
  /**
   * Whether it allows. Then it allows nothing that it does not name: `every` needs at least one effect, and effects that
   * no member is about have to be harmless.
   */
  readonly permits: boolean;
}

/** The purpose of a condition under `not`: in a rule that allows, an exception is as wide as it can be. */
interface InnerPurpose extends Purpose {
  readonly isRulePermitting: boolean;
  /** Whether what is only known at run time counts as a match: it does where that makes the verdict stricter. */
  readonly unknownFits: boolean;
}

/** Compiles a condition that looks at one action to clauses that must all hold. The cheap ones come first. */
export function compilePlain(condition: PlainCondition, purpose: Purpose): Clause[] {
  const { permits } = purpose;
  return compileWithin(condition, { ...purpose, isRulePermitting: permits, unknownFits: !permits }, NOTHING);
}

const NOTHING: Naming = { isAboutEffects: false, kinds: new Set(), anyProgram: false };

/** @param around what the conditions name that this one stands in */
function compileWithin(condition: PlainCondition, purpose: InnerPurpose, around: Naming): Clause[] {
  const { tools, permits, isRulePermitting, unknownFits } = purpose;
  const clauses = [
    ...subjectClauses(condition, tools, permits),
    ...graphClauses(condition.graph, purpose),
    ...effectClauses(condition, purpose),
  ];
  if (condition.time) clauses.push(timeClause(condition.time));
  const { any_of, not } = condition;
  const naming = bothNamings(around, namingOf(condition));
  if (any_of) {
    const options = any_of.map((option) => compileWithin(option, purpose, naming));
    clauses.push({
      name: "any_of",
      holds: (input) => options.some((option) => option.every(({ holds }) => holds(input))),
    });
  } else if (permits && naming.isAboutEffects) clauses.push(namedClause(naming));
  if (not) {
    const negated = compileWithin(
      not,
      { tools, isRulePermitting, permits: isRulePermitting && !permits, unknownFits: !unknownFits },
      NOTHING,
    );
    clauses.push({ name: "not", holds: (input) => !negated.every(({ holds }) => holds(input)) });
  }
  return clauses;
}

/** Compiles a rule's condition; sequences are looked up in the counters by the keys they were given. */
export function compileCondition(
  condition: Condition,
  purpose: Purpose,
  keyOf: (sequence: object) => string,
): Clause[] {
  const clauses = compilePlain(condition, purpose);
  for (const count of many(condition.count)) {
    const key = keyOf(count);
    clauses.push({ name: "count", holds: ({ counters }) => (counters[key] ?? 0) >= count.at_least });
  }
  for (const after of many(condition.after)) {
    const key = keyOf(after);
    clauses.push({ name: "after", holds: ({ counters }) => (counters[key] ?? 0) > 0 });
  }
  return clauses;
}

/** One or several, as a list. */
export function many<Item>(value: Item | readonly Item[] | undefined): readonly Item[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value as Item];
}

/** Which effects a condition names with `every`. */
export interface Naming {
  /** Whether it is about effects at all, with `every` or `any`. */
  readonly isAboutEffects: boolean;
  /** The kinds that one of its members asks something of, each of all effects of the kind. */
  readonly kinds: ReadonlySet<EffectKind>;
  /** Whether running programs is named as a kind, so that whatever they do is. */
  readonly anyProgram: boolean;
}

/** What a condition names, without what its `any_of` and `not` say. */
export function namingOf({ effects, paths, reads, writes, commands, hosts }: PlainCondition): Naming {
  const members = [effects, paths, reads, writes, commands, hosts];
  const kinds = new Set<EffectKind>(effects?.every ?? []);
  const anyProgram = kinds.has("exec");
  if (paths?.every || reads?.every) kinds.add("read");
  if (paths?.every || writes?.every) kinds.add("write");
  if (commands?.every !== undefined) kinds.add("exec");
  if (hosts?.every !== undefined) kinds.add("net");
  const isAboutEffects = members.some((member) => member?.every !== undefined || member?.any !== undefined);
  return { isAboutEffects, kinds, anyProgram };
}

/** What two conditions that must both hold name together. */
function bothNamings(one: Naming, other: Naming): Naming {
  return {
    isAboutEffects: one.isAboutEffects || other.isAboutEffects,
    kinds: one.kinds.union(other.kinds),
    anyProgram: one.anyProgram || other.anyProgram,
  };
}

/**
 * Holds if every effect of an action is named, or harmless by itself. A rule that allows by effects tests this too: its
 * clause about hosts must not allow a deletion in the same action.
 */
function namedClause(naming: Naming): Clause {
  return { name: "unnamed_effects", holds: (input) => isNamed(input, naming) };
}

function isNamed({ action }: DecisionInput, { kinds, anyProgram }: Naming): boolean {
  const isOpen = (effect: Effect) => kinds.has(effect.kind) || isHarmlessEffect(effect);
  if (!action.effects.every(isOpen)) return false;
  if (anyProgram) return true;
  // Programs that are named by their words account for their own doubts, but for no others.
  if (kinds.has("exec")) return action.unaccounted !== true;
  return !action.opaque && action.doubts.length === 0;
}

/**
 * Compiles the clauses about effects. `every` tests all effects of a kind and is for rules that allow: then it does not
 * hold where there is no effect. `any` tests whether there is one, and is for rules that block or ask.
 */
function effectClauses(condition: PlainCondition, { permits, unknownFits }: InnerPurpose): Clause[] {
  const clauses: Clause[] = [];
  const quantified = <Kind extends Effect, Asked>(
    name: string,
    asked: { readonly every?: Asked | undefined; readonly any?: Asked | undefined } | undefined,
    of: (effect: Effect) => effect is Kind,
    tests: Readonly<
      Record<"every" | "any", (asked: Asked, unknownFits: boolean) => (effect: Kind) => boolean>
    >,
  ) => {
    if (asked?.every !== undefined)
      clauses.push({
        name: `${name}.every`,
        holds: everyEffect(of, tests.every(asked.every, unknownFits), permits),
      });
    if (asked?.any !== undefined)
      clauses.push({ name: `${name}.any`, holds: someEffect(of, tests.any(asked.any, unknownFits)) });
  };
  const { opaque, harmless, effects, paths, reads, writes, commands, hosts } = condition;
  if (opaque !== undefined) clauses.push({ name: "opaque", holds: ({ action }) => action.opaque === opaque });
  if (harmless !== undefined)
    clauses.push({ name: "harmless", holds: ({ action }) => isHarmless(action) === harmless });
  quantified("effects", effects, isEffect, { every: isOfKind, any: isOfKind });
  quantified("paths", paths, isPath, PATH_TESTS);
  quantified("reads", reads, isRead, PATH_TESTS);
  quantified("writes", writes, isWrite, PATH_TESTS);
  quantified("commands", commands, isExec, COMMAND_TESTS);
  quantified("hosts", hosts, isNet, HOST_TESTS);
  for (const [path, patterns] of Object.entries(condition.arguments ?? {})) {
    const test = textTest(patterns);
    clauses.push({
      name: `arguments.${path}`,
      holds: ({ action }) => test(argumentAt(action.arguments, path)),
    });
  }
  return clauses;
}

const PATH_TESTS = { every: everyPathTest, any: anyPathTest };

const COMMAND_TESTS = { every: commandTest("begins"), any: commandTest("holds") };

function commandTest(how: keyof CommandPattern) {
  return (asked: string | readonly string[], unknownFits: boolean) => {
    const patterns = many(asked).map(commandPattern);
    return (effect: ExecEffect) => patterns.some((pattern) => pattern[how](effect, unknownFits));
  };
}

const HOST_TESTS = { every: hostTest, any: hostTest };

function hostTest(asked: string | readonly string[], unknownFits: boolean) {
  const test = textTest(asked);
  return ({ host }: NetEffect) => (host === UNKNOWN ? unknownFits : test(host));
}

function isOfKind(kinds: readonly EffectKind[]): (effect: Effect) => boolean {
  return ({ kind }) => kinds.includes(kind);
}

const isEffect = (_: Effect): _ is Effect => true;
const isPath = (effect: Effect): effect is PathEffect => effect.kind === "read" || effect.kind === "write";
const isRead = (effect: Effect): effect is PathEffect => effect.kind === "read";
const isWrite = (effect: Effect): effect is PathEffect => effect.kind === "write";
const isExec = (effect: Effect): effect is ExecEffect => effect.kind === "exec";
const isNet = (effect: Effect): effect is NetEffect => effect.kind === "net";

/** Holds of all such effects; where there are none, only if none is needed. */
function everyEffect<Kind extends Effect>(
  of: (effect: Effect) => effect is Kind,
  test: (effect: Kind) => boolean,
  needsOne: boolean,
): Clause["holds"] {
  return ({ action }) => {
    let holds = !needsOne;
    for (const effect of action.effects) {
      if (!of(effect)) continue;
      if (!test(effect)) return false;
      holds = true;
    }
    return holds;
  };
}

function someEffect<Kind extends Effect>(
  of: (effect: Effect) => effect is Kind,
  test: (effect: Kind) => boolean,
): Clause["holds"] {
  return ({ action }) => action.effects.some((effect) => of(effect) && test(effect));
}

/** The member of the arguments at a dotted path, as text; what is not there is the empty text. */
function argumentAt(value: unknown, path: string): string {
  let found = value;
  for (const name of path.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return "";
    found = Reflect.get(found, name);
  }
  return typeof found === "string" ? found : JSON.stringify(found);
}

/** What clients ask of an agent, by the protocol's names. A tool that an agent calls so is something else. */
export const CLIENTS_NAME = /^(?:session|providers)\/|^(?:initialize|authenticate|logout)$/;

/** Members that are compared with a text of the subject. */
const SUBJECT_TEXTS = [
  ["agent_trust", ({ trust }: Subject) => trust],
  ["agent", ({ agent }: Subject) => agent],
  ["user", ({ user }: Subject) => user],
  ["tenant", ({ tenant }: Subject) => tenant],
  ["session", ({ session }: Subject) => session],
  ["mode", ({ mode }: Subject) => mode],
  ["started", ({ started }: Subject) => started],
  ["enforcement", ({ enforcement }: Subject) => enforcement],
  ["network", ({ network = "open" }: Subject) => network],
  ["origin", ({ origin = "agent" }: Subject) => origin],
] as const;

/**
 * The clauses about who asks, for what tool, and how.
 *
 * @param permits whether the condition allows: then a name that belongs to clients holds for them alone
 */
function subjectClauses(condition: PlainCondition, tools: ToolDeclarations, permits: boolean): Clause[] {
  const clauses: Clause[] = [];
  const about = (name: string, holds: (subject: Subject) => boolean) =>
    clauses.push({ name, subjectOnly: true, holds: ({ subject }) => holds(subject) });
  const compared = (name: string, asked: string | readonly string[] | undefined, textOf: Text) => {
    if (asked === undefined) return;
    const test = textTest(asked);
    clauses.push({ name, holds: (input) => test(textOf(input)) });
  };
  const { tool_name_matches, event, role, scopes, depth, sensitivity, lacks_scopes } = condition;
  for (const [name, textOf] of SUBJECT_TEXTS) {
    const asked = condition[name];
    if (asked === undefined) continue;
    const test = textTest(asked);
    about(name, (subject) => test(textOf(subject)));
  }
  if (tool_name_matches) {
    const test = textTest(tool_name_matches);
    clauses.push({
      name: "tool_name_matches",
      holds: ({ action, subject }) =>
        test(action.tool) && !(permits && subject.origin !== "client" && CLIENTS_NAME.test(action.tool)),
    });
  }
  compared("event", event, ({ event_type }) => event_type);
  if (role !== undefined) {
    const test = textTest(role);
    about("role", ({ roles }) => roles.some(test));
  }
  if (scopes) about("scopes", (subject) => hasScopes(subject, scopes));
  if (depth) {
    const { at_least = 0, at_most = Number.POSITIVE_INFINITY } = depth;
    about("depth", (subject) => subject.depth >= at_least && subject.depth <= at_most);
  }
  compared("sensitivity", sensitivity, ({ action }) => tools[action.tool]?.sensitivity ?? "");
  if (lacks_scopes !== undefined)
    clauses.push({
      name: "lacks_scopes",
      holds: ({ subject, action }) => hasScopes(subject, tools[action.tool]?.scopes ?? []) !== lacks_scopes,
    });
  return clauses;
}

type Text = (input: DecisionInput) => string;

function hasScopes({ scopes }: Subject, needed: readonly string[]): boolean {
  return needed.every((scope) => scopes.includes(scope) || scopes.includes("*"));
}

type TimeCondition = NonNullable<PlainCondition["time"]>;

/** Holds at certain times of day on certain days, in a time zone. A span may pass midnight. */
function timeClause({ from = "00:00", until = "24:00", days, zone = "UTC" }: TimeCondition): Clause {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const allowed = days && new Set<string>(days);
  return {
    name: "time",
    holds({ at }) {
      const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
      const day = parts.get("weekday")?.toLowerCase().slice(0, 3) ?? "";
      const time = `${parts.get("hour")}:${parts.get("minute")}`;
      const within = from <= until ? time >= from && time < until : time >= from || time < until;
      return within && (allowed?.has(day) ?? true);
    },
  };
}

/**
 * Whether an action is known to do no more than look at the workspace, at folders for passing files and at what
 * everybody may read of the system, and change files of the workspace that nothing runs by itself, without destroying what
 * cannot be brought back. It says nothing about whether the change is wanted.
 */
export function isHarmless(action: Action): boolean {
  return !action.opaque && action.doubts.length === 0 && action.effects.every(isHarmlessEffect);
}

/** Whether one effect is harmless by itself. */
function isHarmlessEffect(effect: Effect): boolean {
  switch (effect.kind) {
    case "read":
      return isOpen(effect.place) || (effect.place === "system" && isReadableByAll(effect.path));
    case "write":
      return isOpen(effect.place) && effect.recoverable !== false;
    case "exec":
      return !effect.opaque;
    case "net":
      return effect.looks === true;
  }
}

function isOpen(place: Place): boolean {
  return place === "workspace" || place === "temporary";
}
