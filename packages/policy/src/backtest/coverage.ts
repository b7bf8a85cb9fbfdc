import type { RuleVerdict } from "../constitution/constitution.ts";
import type { Policy } from "../decision/policy.ts";
import { type Group, Groups, gistOf } from "./groups.ts";
import { Replay, type ReplayOptions, type UnreplayableCounts } from "./replay.ts";
import { type UnreachableRule, unreachableRules } from "./suspect-rules.ts";

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

const DEFAULT_EXAMPLES = 3;
const MAX_TOOL = 100;

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
