import type { Counters, DecisionInput } from "../conditions/input.ts";
import type { RuleVerdict } from "../constitution/constitution.ts";
import type { Policy } from "../decision/policy.ts";
import { History } from "../history/history.ts";
import { BlindRules } from "./blind-rules.ts";
import { type RecordedVerdict, RecordReader, type Said, type Unreplayable } from "./recorded-verdict.ts";

/** Which verdicts are decided again, and what is known about them. */
export interface ReplayOptions {
  /** Only verdicts on this tenant's agents; every tenant has a policy of its own. */
  readonly tenant?: string | undefined;
  /** Policies that may have made the record; their verdicts are known to hold every argument they asked for. */
  readonly known?: readonly Policy[];
}

/** A verdict of the past beside what a policy says now. */
export interface Replayed {
  readonly recorded: RecordedVerdict;
  readonly before: Said;
  readonly now: Said;
  /** Whether it was made by the very same rules, which must say the same. */
  readonly sameRules: boolean;
  /** Whether the policy asked for arguments that are not on record, so that it might say something else. */
  readonly blind: boolean;
}

/** How many verdicts could not be decided again, by reason. */
export type UnreplayableCounts = Readonly<Record<Unreplayable, number>>;

const NO_PATHS: ReadonlySet<string> = new Set();

/**
 * Decides verdicts of the past again, one after the other in the order in which they were given.
 *
 * What came before counts as it does in life. A verdict by the same rules brings its own counters. For other rules the
 * history is played again, and in it counts what was really let through and passes this policy too: what was never done
 * has left no trace to count, and what this policy stops would not have been done. Where it asks a person, the action
 * counts if a person was asked then, too, and agreed.
 */
export class Replay {
  readonly #policy: Policy;
  readonly #options: ReplayOptions;
  readonly #reader = new RecordReader();
  readonly #history: History;
  readonly #blindRules: BlindRules;
  readonly #keptPaths: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #modifying: ReadonlySet<string>;
  readonly #unreplayable = { no_policy: 0, no_facts: 0, unreadable: 0 };

  constructor(policy: Policy, options: ReplayOptions = {}) {
    this.#policy = policy;
    this.#options = options;
    this.#history = new History(policy.sequences);
    this.#blindRules = new BlindRules(policy);
    this.#keptPaths = new Map(
      [policy, ...(options.known ?? [])].map(({ hashes, argumentPaths }) => [
        hashes.rules_hash,
        new Set(argumentPaths),
      ]),
    );
    this.#modifying = new Set(
      policy.rules.flatMap(({ rule }) => (rule.verdict === "modify" ? [rule.name] : [])),
    );
  }

  /** Decides on the payload of a `policy_verdict` entry; `undefined` when that cannot be, or is another tenant's. */
  take(payload: unknown): Replayed | undefined {
    const recorded = this.#reader.read(payload);
    if (typeof recorded === "string") {
      this.#unreplayable[recorded] += 1;
      return undefined;
    }
    const { tenant } = this.#options;
    if (tenant !== undefined && recorded.subject.tenant !== tenant) return undefined;
    return this.#decide(recorded);
  }

  /** How many could not be decided again so far. */
  get unreplayable(): UnreplayableCounts {
    return { ...this.#unreplayable };
  }

  #decide(recorded: RecordedVerdict): Replayed {
    const { event_type, action, subject, at, rules_hash } = recorded;
    const sameRules = rules_hash === this.#policy.hashes.rules_hash;
    const counters: Counters = sameRules ? recorded.counters : this.#history.counters(subject, at);
    const input: DecisionInput = { event_type, action, subject, counters, at };
    const { verdict, rule } = this.#policy.decide(input);
    const now = this.#modified(recorded, { verdict, rule });
    if (wasDone(recorded) && passes(now, recorded)) this.#history.note(input);
    return {
      recorded,
      before: sameRules && wasChanged(recorded) ? now : recorded.said,
      now,
      sameRules,
      blind: this.#blindRules.blindTo(input, rule, this.#keptPaths.get(rules_hash) ?? NO_PATHS),
    };
  }

  /**
   * Of an action that was modified only what it became is on record, so whether it would be modified again cannot be
   * seen. It is taken to be where a rule of that name still modifies and nothing stops what it became.
   */
  #modified(recorded: RecordedVerdict, now: Said): Said {
    const { verdict, rule } = recorded.said;
    if (verdict !== "modify" || rule === undefined || !this.#modifying.has(rule)) return now;
    return letsThrough(now.verdict) ? { verdict, rule } : now;
  }
}

/** Whether an action was modified, so that its facts are not those the first verdict was on. */
function wasChanged({ said }: RecordedVerdict): boolean {
  return said.verdict === "modify";
}

function wasDone({ outcome }: RecordedVerdict): boolean {
  return letsThrough(outcome);
}

function passes({ verdict }: Said, { said }: RecordedVerdict): boolean {
  return letsThrough(verdict) || (verdict === "ask" && said.verdict === "ask");
}

function letsThrough(verdict: RuleVerdict): boolean {
  return verdict === "allowed" || verdict === "modify";
}
