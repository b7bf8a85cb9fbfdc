import type { RuleVerdict } from "../constitution/constitution.ts";
import { isAtLeastAsStrict, type Policy, type Said } from "../decision/policy.ts";
import { type Group, Groups, gistOf } from "./groups.ts";
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
