import { errorMessage } from "@reins/kit";
import { isNode, LineCounter, parseDocument } from "yaml";
import { namingOf } from "../conditions/conditions.ts";
import { conditionsIn, type PathTest, type PlainCondition } from "../constitution/condition.ts";
import type { Rule } from "../constitution/constitution.ts";
import {
  type ConstitutionText,
  type FilePlace,
  PolicyError,
  type PolicyFault,
  readConstitution,
} from "../constitution/load.ts";
import { type TestOutcome, testOutcomes } from "../constitution/run-tests.ts";
import { Policy } from "../decision/policy.ts";

/** What there is to say about a constitution before it is used. */
export interface ConstitutionCheck {
  /** The policy it makes, if it makes one. One whose tests fail is given all the same, and must not be used. */
  readonly policy: Policy | undefined;
  /** Why it would be refused; empty when it would be taken. */
  readonly faults: readonly PolicyFault[];
  /** What it would be taken with, and is most likely a mistake. */
  readonly remarks: readonly PolicyFault[];
  readonly tests: readonly TestOutcome[];
}

/** Looks through a constitution as far as that is possible. Never throws for what is in it. */
export async function checkConstitution(text: ConstitutionText): Promise<ConstitutionCheck> {
  const made = makePolicy(text);
  if (!(made instanceof Policy)) return { policy: undefined, faults: made, remarks: [], tests: [] };
  const placeOf = placesIn(text.rules);
  const tests = await testOutcomes(made);
  return {
    policy: made,
    faults: tests.flatMap(({ fault, index }) =>
      fault === undefined ? [] : [{ message: fault, place: placeOf(["tests", index]) }],
    ),
    remarks: remarksOn(made, placeOf),
    tests,
  };
}

/** The policy that a constitution makes, its tests not run, or why it makes none. */
export function readPolicy(
  text: ConstitutionText,
): { readonly policy: Policy } | { readonly policy: undefined; readonly faults: readonly PolicyFault[] } {
  const made = makePolicy(text);
  return made instanceof Policy ? { policy: made } : { policy: undefined, faults: made };
}

function makePolicy(text: ConstitutionText): Policy | readonly PolicyFault[] {
  try {
    return new Policy(readConstitution(text.rules, text.file), text);
  } catch (error) {
    if (error instanceof PolicyError) return error.faults;
    return [{ message: errorMessage(error), place: undefined }];
  }
}

type PlaceOf = (path: readonly (string | number)[]) => FilePlace | undefined;

/** Finds places in a constitution that can be read. */
function placesIn(text: string): PlaceOf {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  return (path) => {
    const node = document.getIn(path, true);
    if (!isNode(node) || !node.range) return undefined;
    const { line, col } = lines.linePos(node.range[0]);
    return { line, column: col };
  };
}

function remarksOn(policy: Policy, placeOf: PlaceOf): PolicyFault[] {
  const { tool_rules } = policy.file;
  const placeOfRule = (name: string, nth: "first" | "last") => {
    const same = (rule: { readonly name: string }) => rule.name === name;
    return placeOf([
      "tool_rules",
      nth === "first" ? tool_rules.findIndex(same) : tool_rules.findLastIndex(same),
    ]);
  };
  const unreachable = unreachableRules(policy).map(({ rule, because }) => ({
    message: `rule "${rule}" can never match: "${because}" before it takes everything it could`,
    place: placeOfRule(rule, "first"),
  }));
  const names = tool_rules.map(({ name }) => name);
  const twice = new Set(names.filter((name, index) => names.indexOf(name) < index));
  const doubled = [...twice].map((name) => ({
    message: `two rules are called "${name}"; verdicts name their rule, so the names have to differ`,
    place: placeOfRule(name, "last"),
  }));
  const wide = wideRules(policy).map(({ index, message }) => ({
    message,
    place: placeOf(["tool_rules", index]),
  }));
  return [...unreachable, ...doubled, ...wide, ...surprises(policy, placeOf)];
}

/** What can be used, and most likely does something other than its writer expects. */
function surprises({ file }: Policy, placeOf: PlaceOf): PolicyFault[] {
  const found: PolicyFault[] = [];
  for (const [index, { name, condition }] of file.tool_rules.entries()) {
    const place = placeOf(["tool_rules", index]);
    const why = neverMatches(condition);
    if (why !== undefined) found.push({ message: `rule "${name}" can never match: ${why}`, place });
    for (const { condition: part } of conditionsIn(condition, []))
      for (const text of Object.values(part.arguments ?? {}).flat())
        if (/\.\*/.test(text))
          found.push({
            message: `rule "${name}" compares an argument with "${text}": this is text with a dot, and no regular expression`,
            place,
          });
  }
  for (const [index, { name, url }] of file.harnesses.entries())
    if (isReadable(url))
      found.push({
        message: `harness "${name}" is asked without encryption: what agents do can be read and changed on the way; use https: or wss:`,
        place: placeOf(["harnesses", index, "url"]),
      });
  if (file.tool_approval_policy?.auto_approve.some((name) => /^\*+$/.test(name)))
    found.push({
      message:
        "auto_approve allows every tool: only auto_deny and write_path_allowlist are looked at before it",
      place: placeOf(["tool_approval_policy", "auto_approve"]),
    });
  return found;
}

/** Whether others on the network can read what is sent to an address. */
function isReadable(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  const isLocal = hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
  return (protocol === "http:" || protocol === "ws:") && !isLocal;
}

/** A rule that can never match, and the earlier one that takes everything it could. */
export interface UnreachableRule {
  readonly rule: string;
  readonly because: string;
}

interface Asking {
  readonly name: string;
  /** The members of its condition, as text. */
  readonly members: ReadonlySet<string>;
}

/**
 * The rules that can never match, as far as that can be seen: before them stands one that asks for nothing which they
 * do not ask for in the same words, such as `{}`.
 */
export function unreachableRules({ rules }: Policy): UnreachableRule[] {
  // Earlier rules under one of their members: a rule that asks for all of an earlier one's asks for that one too.
  const earlier = new Map<string, Asking[]>();
  return rules.flatMap(({ rule }) => {
    const members = membersOf(rule);
    const because = [NOTHING, ...members]
      .flatMap((member) => earlier.get(member) ?? [])
      .find((candidate) => candidate.members.isSubsetOf(members));
    if (because) return [{ rule: rule.name, because: because.name }];
    const [first = NOTHING] = members;
    const alike = earlier.get(first) ?? [];
    alike.push({ name: rule.name, members });
    earlier.set(first, alike);
    return [];
  });
}

const NOTHING = "";

function membersOf({ condition }: Rule): ReadonlySet<string> {
  const given = Object.entries(condition).filter(([, asked]) => asked !== undefined);
  return new Set(given.map(([name, asked]) => `${name}: ${JSON.stringify(asked)}`));
}

/** A rule that allows more than its words suggest. */
interface WideRule {
  /** Its place among the file's own rules. */
  readonly index: number;
  readonly message: string;
}

/** The rules that allow more than they name. */
function wideRules({ file }: Policy): WideRule[] {
  return file.tool_rules.flatMap(({ name, verdict, condition }, index) => {
    if (verdict !== "allowed") return [];
    return wideParts(condition).map((why) => ({
      index,
      message: `rule "${name}" allows more than it names: ${why}`,
    }));
  });
}

function wideParts(condition: PlainCondition): string[] {
  if (!isAboutActions(condition))
    return ["it says nothing of what is done, so everything passes that no rule before it stops"];
  const { isAboutEffects, kinds } = namingOf(condition);
  if (isAboutEffects && kinds.size === 0 && condition.harmless !== true && condition.any_of === undefined)
    return ["any holds if one effect is so; say with every what all of them are"];
  return kindsWithoutBounds(condition);
}

/** Whether a condition says anything of the action itself, and not only of who asks and when. */
function isAboutActions(condition: PlainCondition): boolean {
  const { harmless, opaque, event, tool_name_matches, sensitivity, any_of, not } = condition;
  const given = [harmless, opaque, event, tool_name_matches, sensitivity, condition.arguments, not];
  return (
    given.some((member) => member !== undefined) ||
    namingOf(condition).isAboutEffects ||
    (any_of?.every(isAboutActions) ?? false)
  );
}

/** Kinds of effects that `effects` allows and no other clause limits. */
function kindsWithoutBounds(condition: PlainCondition): string[] {
  const { effects, paths, reads, writes, commands, hosts, opaque, harmless, enforcement, not } = condition;
  if (harmless === true || not !== undefined || enforcement === "confined") return [];
  const kinds = new Set(effects?.every ?? []);
  const found: string[] = [];
  if (kinds.has("read") && !paths?.every && !reads?.every)
    found.push("it lets anything be read; add reads.every");
  if (kinds.has("write") && !paths?.every && !writes?.every)
    found.push("it lets anything be written; add writes.every");
  if (kinds.has("exec") && commands?.every === undefined && opaque !== false)
    found.push("it lets any program run; add commands.every, or opaque: false");
  if (kinds.has("net") && hosts?.every === undefined) found.push("it speaks to any host; add hosts.every");
  return found;
}

/** Why no action can meet a condition, as far as its own words show. */
function neverMatches(condition: PlainCondition): string | undefined {
  const { not, any_of, effects, harmless, opaque } = condition;
  if (not && isSubset(not, condition)) return "it asks for what its not excludes";
  if (harmless === true && opaque === true) return "what is opaque is never harmless";
  const every = effects?.every;
  const missing = every && neededKinds(condition).find((kind) => !every.includes(kind));
  if (missing) return `effects.every leaves out ${missing}, and another member needs one`;
  for (const name of ["paths", "reads", "writes"] as const)
    for (const quantifier of ["every", "any"] as const) {
      const test = condition[name]?.[quantifier];
      if (test && excludesItself(test)) return `${name}.${quantifier} excepts all that it matches`;
    }
  return any_of?.every((option) => neverMatches(option) !== undefined)
    ? "none of any_of can match"
    : undefined;
}

type Kind = "read" | "write" | "exec" | "net";

/** The kinds of which a condition needs at least one effect. */
function neededKinds({ effects, reads, writes, commands, hosts }: PlainCondition): Kind[] {
  const [only, ...others] = effects?.any ?? [];
  return [
    ...(only !== undefined && others.length === 0 ? [only] : []),
    ...(reads?.any ? (["read"] as const) : []),
    ...(writes?.any ? (["write"] as const) : []),
    ...(commands?.any !== undefined ? (["exec"] as const) : []),
    ...(hosts?.any !== undefined ? (["net"] as const) : []),
  ];
}

function excludesItself({ match, except }: PathTest): boolean {
  if (match === undefined || except === undefined) return false;
  const excepted = new Set([except].flat());
  return [match].flat().every((glob) => excepted.has(glob));
}

/** Whether everything that a condition says is said in the same words by another. */
function isSubset(part: PlainCondition, whole: PlainCondition): boolean {
  return Object.entries(part).every(
    ([name, asked]) =>
      asked === undefined || JSON.stringify(asked) === JSON.stringify(Reflect.get(whole, name)),
  );
}
