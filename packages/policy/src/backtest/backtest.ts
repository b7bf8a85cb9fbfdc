import type { Action, Effect, ReadEffect, WriteEffect } from "../action.ts";
import type { RuleVerdict } from "../constitution/constitution.ts";
import type { Policy } from "../decision/policy.ts";
import { isAtLeastAsStrict, type Said } from "../decision/verdict.ts";
import { type UnreachableRule, unreachableRules } from "./check.ts";
import { Replay, type Replayed, type ReplayOptions, type UnreplayableCounts } from "./replay.ts";

/** Whether a verdict allows more than another, less, or the same by another rule. */
export type Direction = "looser" | "stricter" | "same";

/** What changes alike: from which verdict to which, by which rules, of whom and with what. */
export interface ChangeKey {
  readonly direction: Direction;
  readonly from: { readonly verdict: RuleVerdict; readonly rule: string | null };
  readonly to: { readonly verdict: RuleVerdict; readonly rule: string | null };
  readonly event_type: string;
  readonly tool: string;
  readonly agent: string;
}

/** How many verdicts of each kind. */
type VerdictMix = Readonly<Record<RuleVerdict, number>>;

/** What a draft would have changed. */
export interface BacktestReport {
  /** How many verdicts were decided again. */
  readonly total: number;
  /** The same verdict by the same rule. */
  readonly unchanged: number;
  /** The same verdict by another rule. */
  readonly other_rule: number;
  readonly looser: number;
  readonly stricter: number;
  /** How many were made by the draft's own rules, and how many of these came out otherwise, which must be none. */
  readonly same_rules: number;
  readonly contradicted: number;
  /** How many were decided without arguments that the draft asks for and the record does not hold. */
  readonly blind: number;
  /** How many the draft modifies to something that is not on record, so that what it says to that is not known. */
  readonly unfollowed: number;
  readonly not_replayable: UnreplayableCounts;
  readonly before: VerdictMix;
  readonly after: VerdictMix;
  readonly changes: readonly Group<ChangeKey>[];
  /** How many changes are in none of the groups, because there were too many groups. */
  readonly changes_left_out: number;
  /** When the first and the last of these verdicts was given, RFC 3339. */
  readonly first_at: string | null;
  readonly last_at: string | null;
}

/** How a backtest is made. */
export interface BacktestOptions extends ReplayOptions {
  /** How many examples are given of each change. */
  readonly examples?: number;
}

const DEFAULT_EXAMPLES = 3;
const MAX_TOOL = 100;

/**
 * Tries a draft on the verdicts of the past. Rules are held against rules: limits, harnesses and people have no say in
 * it. Takes entries one by one, and no more memory for many than for few.
 */
export class Backtest {
  readonly #replay: Replay;
  readonly #changes: Groups<ChangeKey>;
  readonly #before = mix();
  readonly #after = mix();
  readonly #directions = { looser: 0, stricter: 0, same: 0 };
  #total = 0;
  #sameRules = 0;
  #contradicted = 0;
  #blind = 0;
  #unfollowed = 0;
  #first: number | undefined;
  #last: number | undefined;

  constructor(draft: Policy, options: BacktestOptions = {}) {
    this.#replay = new Replay(draft, options);
    this.#changes = new Groups(options.examples ?? DEFAULT_EXAMPLES);
  }

  /** Takes the next verdict: its entry's content id and payload. */
  add(entry: string, payload: unknown): void {
    const replayed = this.#replay.take(payload);
    if (!replayed) return;
    const { before, now, sameRules, blind, unfollowed, recorded } = replayed;
    this.#total += 1;
    this.#before[before.verdict] += 1;
    this.#after[now.verdict] += 1;
    this.#first ??= recorded.at;
    this.#last = recorded.at;
    if (sameRules) this.#sameRules += 1;
    if (blind) this.#blind += 1;
    if (unfollowed) this.#unfollowed += 1;
    if (before.verdict === now.verdict && before.rule === now.rule) return;
    if (sameRules) this.#contradicted += 1;
    this.#change(entry, replayed);
  }

  /** What was found so far. */
  report(): BacktestReport {
    const { looser, stricter, same } = this.#directions;
    return {
      total: this.#total,
      unchanged: this.#total - looser - stricter - same,
      other_rule: same,
      looser,
      stricter,
      same_rules: this.#sameRules,
      contradicted: this.#contradicted,
      blind: this.#blind,
      unfollowed: this.#unfollowed,
      not_replayable: this.#replay.unreplayable,
      before: { ...this.#before },
      after: { ...this.#after },
      changes: this.#changes.sorted(),
      changes_left_out: this.#changes.leftOut,
      first_at: timeOf(this.#first),
      last_at: timeOf(this.#last),
    };
  }

  #change(entry: string, { before, now, recorded }: Replayed): void {
    const direction = directionOf(before.verdict, now.verdict);
    this.#directions[direction] += 1;
    const { action, subject, event_type } = recorded;
    const { agent } = subject;
    const tool = action.tool.slice(0, MAX_TOOL);
    this.#changes.add(
      [before.verdict, before.rule, now.verdict, now.rule, event_type, tool, agent],
      () => ({ direction, from: plain(before), to: plain(now), event_type, tool, agent }),
      () => ({ entry, what: gistOf(action) }),
    );
  }
}

function directionOf(before: RuleVerdict, after: RuleVerdict): Direction {
  if (before === after) return "same";
  return isAtLeastAsStrict(after, before) ? "stricter" : "looser";
}

function plain({ verdict, rule }: Said): ChangeKey["from"] {
  return { verdict, rule: rule ?? null };
}

function mix(): Record<RuleVerdict, number> {
  return { allowed: 0, blocked: 0, ask: 0, defer: 0, modify: 0 };
}

function timeOf(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}

/** Actions that no rule names: who did them with what, and what became of them. */
export interface UnnamedKey {
  readonly verdict: RuleVerdict;
  /** The rule for everything that took them; none blocked them. */
  readonly rule: string | null;
  readonly event_type: string;
  readonly tool: string;
  readonly agent: string;
}

/** How often a rule decided. */
interface RuleUse {
  readonly rule: string;
  readonly matches: number;
  /** Whether it names nothing and so takes everything. */
  readonly takes_all: boolean;
}

/** What the rules of a constitution are about, held against what was done. */
export interface CoverageReport {
  /** How many actions were looked at. */
  readonly total: number;
  /** Decided by a rule that says what it is about. */
  readonly named: number;
  /** Decided by a rule that takes everything. */
  readonly taken_by_all: number;
  /** Blocked, because no rule matched. */
  readonly unmatched: number;
  readonly unnamed: readonly Group<UnnamedKey>[];
  readonly unnamed_left_out: number;
  readonly rules: readonly RuleUse[];
  /** Rules that decided nothing, though they could. */
  readonly never_matched: readonly string[];
  readonly unreachable: readonly UnreachableRule[];
  readonly not_replayable: UnreplayableCounts;
}

/** How coverage is found out. */
export interface CoverageOptions extends ReplayOptions {
  readonly examples?: number;
}

/** Finds the actions of the past that no rule of a constitution names, and the rules that nothing was ever about. */
export class Coverage {
  readonly #policy: Policy;
  readonly #replay: Replay;
  readonly #unnamed: Groups<UnnamedKey>;
  readonly #matches = new Map<string, number>();
  readonly #takesAll: ReadonlySet<string>;
  #total = 0;
  #takenByAll = 0;
  #unmatched = 0;

  constructor(policy: Policy, options: CoverageOptions = {}) {
    this.#policy = policy;
    this.#replay = new Replay(policy, options);
    this.#unnamed = new Groups(options.examples ?? DEFAULT_EXAMPLES);
    this.#takesAll = new Set(
      policy.rules.flatMap(({ rule, clauses }) => (clauses.length === 0 ? [rule.name] : [])),
    );
  }

  /** Takes the next verdict: its entry's content id and payload. */
  add(entry: string, payload: unknown): void {
    const replayed = this.#replay.take(payload);
    if (!replayed) return;
    const { now, recorded } = replayed;
    const { rule } = now;
    this.#total += 1;
    if (rule !== undefined) this.#matches.set(rule, (this.#matches.get(rule) ?? 0) + 1);
    if (rule !== undefined && !this.#takesAll.has(rule)) return;
    if (rule === undefined) this.#unmatched += 1;
    else this.#takenByAll += 1;
    const { action, subject, event_type } = recorded;
    const tool = action.tool.slice(0, MAX_TOOL);
    const { verdict } = now;
    const { agent } = subject;
    this.#unnamed.add(
      [verdict, rule, event_type, tool, agent],
      () => ({ verdict, rule: rule ?? null, event_type, tool, agent }),
      () => ({ entry, what: gistOf(action) }),
    );
  }

  /** What was found so far. */
  report(): CoverageReport {
    const rules = this.#policy.rules.map(({ rule, clauses }) => ({
      rule: rule.name,
      matches: this.#matches.get(rule.name) ?? 0,
      takes_all: clauses.length === 0,
    }));
    const unreachable = unreachableRules(this.#policy);
    const cannot = new Set(unreachable.map(({ rule }) => rule));
    return {
      total: this.#total,
      named: this.#total - this.#takenByAll - this.#unmatched,
      taken_by_all: this.#takenByAll,
      unmatched: this.#unmatched,
      unnamed: this.#unnamed.sorted(),
      unnamed_left_out: this.#unnamed.leftOut,
      rules,
      never_matched: rules.flatMap(({ rule, matches }) => (matches === 0 && !cannot.has(rule) ? [rule] : [])),
      unreachable,
      not_replayable: this.#replay.unreplayable,
    };
  }
}

const MAX_PARTS = 3;
const MAX_PART = 48;

/** What an action does in a few words: what it runs, writes and speaks to, or what it reads if that is all. */
export function gistOf({ effects, tool }: Pick<Action, "effects" | "tool">): string {
  const telling = effects.filter(({ kind }) => kind !== "read");
  const parts = [...new Set((telling.length > 0 ? telling : effects).map(partOf))];
  if (parts.length === 0) return tool;
  const shown = parts.slice(0, MAX_PARTS).map(cut);
  const more = parts.length - shown.length;
  return `${shown.join("; ")}${more > 0 ? `; ${more} more` : ""}`;
}

function partOf(effect: Effect): string {
  switch (effect.kind) {
    case "exec":
      return [effect.command, ...effect.arguments.map((word) => word ?? "…")].join(" ");
    case "write":
      return `${effect.destroys ? "destroys" : "writes"} ${pathOf(effect)}`;
    case "read":
      return `reads ${pathOf(effect)}`;
    case "net":
      return `speaks to ${effect.host === "*" ? "some host" : effect.host}`;
  }
}

function pathOf({ inside, path, deep }: ReadEffect | WriteEffect): string {
  // Of the session's root itself the path inside is empty.
  return `${inside || path}${deep ? " and below" : ""}`;
}

function cut(text: string): string {
  return text.length <= MAX_PART ? text : `${text.slice(0, MAX_PART - 1).toWellFormed()}…`;
}

/** An action of the past, by way of example. */
export interface Example {
  /** The content id of its entry. */
  readonly entry: string;
  /** What it did, in a few words. */
  readonly what: string;
}

/** Actions that are alike. */
export type Group<Key> = Key & { readonly count: number; readonly examples: readonly Example[] };

/** How many groups are distinguished, which bounds the memory for any number of made-up names. */
const MAX_GROUPS = 5_000;
/** Among how many of a group examples are looked for; those that do the same are not shown twice. */
const LOOKED_AT = 100;

interface Counted<Key> {
  readonly key: Key;
  count: number;
  readonly examples: Example[];
}

/** Counts actions by what they have in common, with the first few that differ as examples. */
export class Groups<Key extends object> {
  readonly #examples: number;
  readonly #groups = new Map<string, Counted<Key>>();
  #leftOut = 0;

  constructor(examples: number) {
    this.#examples = examples;
  }

  /** Counts one. `parts` identify its group; the key is built for the first of a group only. */
  add(parts: readonly (string | undefined)[], keyOf: () => Key, example: () => Example): void {
    const name = JSON.stringify(parts);
    let group = this.#groups.get(name);
    if (!group) {
      if (this.#groups.size >= MAX_GROUPS) {
        this.#leftOut += 1;
        return;
      }
      group = { key: keyOf(), count: 0, examples: [] };
      this.#groups.set(name, group);
    }
    group.count += 1;
    if (group.examples.length >= this.#examples || group.count > LOOKED_AT) return;
    const found = example();
    if (!group.examples.some(({ what }) => what === found.what)) group.examples.push(found);
  }

  /** How many were counted in no group, because there were too many groups already. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** The groups, the largest first, those of a size by name. */
  sorted(): Group<Key>[] {
    return [...this.#groups]
      .sort(([name, { count }], [other, { count: others }]) => others - count || (name < other ? -1 : 1))
      .map(([, { key, count, examples }]) => ({ ...key, count, examples }));
  }
}
