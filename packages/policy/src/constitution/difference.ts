import { isDeepStrictEqual } from "node:util";
import { CLIENTS_NAME } from "../conditions/conditions.ts";
import { isAtLeastAsStrict } from "../decision/verdict.ts";
import { type ConstitutionFile, type Limit, type Rule, rulesOf } from "./constitution.ts";

/** The parts of a constitution. */
export const SECTIONS = ["rules", "limits", "tools", "harnesses", "tests", "default_mandate"] as const;
export type Section = (typeof SECTIONS)[number];

/** A member that is not what it was, by dotted path. */
export interface MemberChange {
  readonly member: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** One thing in which two constitutions differ. Places count from 1. */
export interface Difference {
  readonly section: Section;
  readonly kind: "added" | "removed" | "moved" | "changed";
  readonly name: string;
  readonly before?: { readonly place: number; readonly value: unknown };
  readonly after?: { readonly place: number; readonly value: unknown };
  /** For what was changed: in which members. */
  readonly members?: readonly MemberChange[];
}

/** How one constitution differs from an earlier one. */
export interface ConstitutionDifference {
  readonly differences: readonly Difference[];
  /** Whether the later one can be seen to let nothing more through; then it applies at once. */
  readonly no_looser: boolean;
  /** The sections for which that cannot be seen. */
  readonly looser_in: readonly string[];
}

/** Compares two constitutions. */
export function constitutionDifference(
  before: ConstitutionFile,
  after: ConstitutionFile,
): ConstitutionDifference {
  return {
    differences: SECTIONS.flatMap((section) =>
      differencesIn(section, itemsOf(before, section), itemsOf(after, section)),
    ),
    no_looser: isNoLooser(after, before),
    looser_in: PARTS.filter((part) => !isNoLooser({ ...before, [part]: after[part] }, before)),
  };
}

const PARTS = ["tool_rules", "tool_approval_policy", "tools", "limits", "harnesses"] as const;

interface Item {
  readonly name: string;
  /** The name, made unique among equal ones. */
  readonly key: string;
  readonly place: number;
  readonly value: object;
}

/** The named things of a section, in order. */
function itemsOf(file: ConstitutionFile, section: Section): readonly Item[] {
  const seen = new Map<string, number>();
  return namedOf(file, section).map(([name, value], index) => {
    const nth = seen.get(name) ?? 0;
    seen.set(name, nth + 1);
    return { name, key: `${name}\n${nth}`, place: index + 1, value };
  });
}

function namedOf(file: ConstitutionFile, section: Section): (readonly [string, object])[] {
  switch (section) {
    case "rules":
      return rulesOf(file).map(({ name, ...rule }) => [name, rule]);
    case "limits":
    case "harnesses":
    case "tests":
      return file[section].map(({ name, ...item }) => [name, item]);
    case "tools":
      return Object.entries(file.tools);
    case "default_mandate":
      return file.default_mandate === "" ? [] : [["default_mandate", { text: file.default_mandate }]];
  }
}

function differencesIn(section: Section, before: readonly Item[], after: readonly Item[]): Difference[] {
  const old = new Map(before.map((item) => [item.key, item]));
  const kept = after.flatMap(({ key }) => (old.has(key) ? [key] : []));
  const keptNow = new Set(kept);
  const places = new Map(before.map(({ key, place }) => [key, place]));
  // Only among rules does the order mean anything.
  const moved = section === "rules" ? movedAmong(kept, places) : new Set<string>();
  const gone = before.filter(({ key }) => !keptNow.has(key));
  return [
    ...gone.map((item): Difference => ({ section, kind: "removed", name: item.name, before: sideOf(item) })),
    ...after.flatMap((item): Difference[] => {
      const earlier = old.get(item.key);
      const { name } = item;
      if (!earlier) return [{ section, kind: "added", name, after: sideOf(item) }];
      const both = { section, name, before: sideOf(earlier), after: sideOf(item) };
      const members = changesBetween(earlier.value, item.value);
      return [
        ...(moved.has(item.key) ? [{ ...both, kind: "moved" as const }] : []),
        ...(members.length > 0 ? [{ ...both, kind: "changed" as const, members }] : []),
      ];
    }),
  ];
}

function sideOf({ place, value }: Item): NonNullable<Difference["before"]> {
  return { place, value };
}

/** The members in which two objects differ; conditions are gone through member by member. */
function changesBetween(before: object, after: object, path = ""): MemberChange[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name): MemberChange[] => {
    const [old, now] = [Reflect.get(before, name), Reflect.get(after, name)];
    if (isDeepStrictEqual(old, now)) return [];
    const member = path === "" ? name : `${path}.${name}`;
    if (name === "condition" || name === "given") return changesBetween(old ?? {}, now ?? {}, member);
    return [{ member, before: old, after: now }];
  });
}

/**
 * Which of some names, each with its place before, in their order of now, were moved: the fewest that have to be taken
 * out for the others to stand in the order they had.
 */
function movedAmong(names: readonly string[], before: ReadonlyMap<string, number>): Set<string> {
  // The longest run of rising places, found by keeping for each length the run that ends lowest.
  const ends: Run[] = [];
  for (const name of names) {
    const place = before.get(name) ?? -1;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ends[middle]?.place ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    ends[low] = { name, place, previous: ends[low - 1] };
  }
  const moved = new Set(names);
  for (let run = ends.at(-1); run; run = run.previous) moved.delete(run.name);
  return moved;
}

interface Run {
  readonly name: string;
  readonly place: number;
  readonly previous: Run | undefined;
}

/**
 * Whether a constitution can be seen to allow nothing that an earlier one did not: the same rules in the same order, each
 * at least as strict, with nothing but blocks between them, and limits and harnesses no weaker. What cannot be seen to be
 * stricter counts as looser.
 */
export function isNoLooser(after: ConstitutionFile, before: ConstitutionFile): boolean {
  return (
    rulesAreNoLooser(after.tool_rules, before.tool_rules) &&
    same(after.tool_approval_policy, before.tool_approval_policy) &&
    same(after.tools, before.tools) &&
    before.limits.every((limit) => after.limits.some((other) => limitIsNoLooser(other, limit))) &&
    before.harnesses.every((harness) =>
      after.harnesses.some(
        (other) => same({ ...other, fail: "" }, { ...harness, fail: "" }) && other.fail <= harness.fail,
      ),
    )
  );
}

function rulesAreNoLooser(after: readonly Rule[], before: readonly Rule[]): boolean {
  let next = 0;
  for (const rule of after) {
    const earlier = before[next];
    if (earlier && ruleIsNoLooser(rule, earlier)) next += 1;
    else if (rule.verdict !== "blocked") return false;
  }
  return next === before.length;
}

function ruleIsNoLooser(after: Rule, before: Rule): boolean {
  const sameButVerdict = same(
    { ...after, name: "", reason: "", verdict: "", quorum: 0, four_eyes: false },
    { ...before, name: "", reason: "", verdict: "", quorum: 0, four_eyes: false },
  );
  return (
    sameButVerdict &&
    isAtLeastAsStrict(after.verdict, before.verdict) &&
    !takesMore(after, before) &&
    (after.quorum ?? 1) >= (before.quorum ?? 1) &&
    // Four eyes may only be dropped where nothing is allowed any more.
    (!before.four_eyes || after.four_eyes === true || after.verdict === "blocked")
  );
}

/**
 * Whether a rule takes actions that it left to the rules behind it: one that allows reads its condition more narrowly than
 * one that asks or defers, and what it leaves may be blocked behind it. One that blocks may take whatever it likes.
 */
function takesMore(after: Rule, before: Rule): boolean {
  if (before.verdict !== "allowed" || after.verdict === "allowed" || after.verdict === "blocked")
    return false;
  const { tool_name_matches = [] } = before.condition;
  const isPlain = tool_name_matches.every((name) => /^[\w.:-]+$/.test(name) && !CLIENTS_NAME.test(name));
  return !isPlain || /"(?:every|any|any_of|not)":/.test(JSON.stringify(before.condition));
}

function limitIsNoLooser(after: Limit, before: Limit): boolean {
  const bounds = ["calls", "tokens", "cost"] as const;
  // Uses count against a limit by its name: under another one, all that was used up would be there again.
  const unbounded = (limit: Limit) => ({ ...limit, calls: 0, tokens: 0, cost: 0, exceeded: "" });
  return (
    same(unbounded(after), unbounded(before)) &&
    bounds.every(
      (bound) => (after[bound] ?? Number.POSITIVE_INFINITY) <= (before[bound] ?? Number.POSITIVE_INFINITY),
    ) &&
    isAtLeastAsStrict(after.exceeded, before.exceeded)
  );
}

function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    entries
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}
