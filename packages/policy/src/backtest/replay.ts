import { isDeepStrictEqual } from "node:util";
import type { DecisionInput } from "../action.ts";
import type { Clause } from "../conditions/conditions.ts";
import { History, type Policy, permitsAction } from "../decision/policy.ts";
import { argumentPathsIn, type CompiledRule } from "../decision/rules.ts";
import { afterModify, type PolicyVerdict, type Said } from "../decision/verdict.ts";
import {
  type ModifiedFrom,
  type RecordedStep,
  type RecordedVerdict,
  RecordReader,
  type Unreplayable,
} from "./recorded-verdict.ts";

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
  /** Whether the policy modifies it to something that is not on record, so that what it says to that is not known. */
  readonly unfollowed: boolean;
}

/** One decision of a policy on the past. */
interface Step {
  readonly input: DecisionInput;
  readonly verdict: PolicyVerdict;
  readonly blind: boolean;
}

/** How many verdicts could not be decided again, by reason. */
export type UnreplayableCounts = Readonly<Record<Unreplayable, number>>;

const NO_PATHS: ReadonlySet<string> = new Set();

/**
 * Decides verdicts of the past again, one after the other in the order in which they were given.
 *
 * What came before counts as it does in life. A verdict by the same rules brings its own counters. For other rules the
 * history is replayed, and counts what was really allowed and is allowed by this policy too: what was never done has left
 * no trace to count, and what this policy blocks would not have been done. Where it asks a person, the action
 * counts if a person was asked then, too, and agreed.
 */
export class Replay {
  readonly #policy: Policy;
  readonly #options: ReplayOptions;
  readonly #reader = new RecordReader();
  readonly #history: History;
  readonly #blindRules: BlindRules;
  readonly #keptPaths: ReadonlyMap<string, ReadonlySet<string>>;
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
    const { modified_from: from } = recorded;
    const sameRules = this.#made(recorded);
    const before = from ? afterModify({ verdict: "modify", rule: from.rule }, recorded.said) : recorded.said;
    const first = this.#step(recorded, from ?? recorded);
    const again =
      from && (sameRules || isSameChange(first.verdict, from)) ? this.#step(recorded, recorded) : undefined;
    const now = again ? afterModify(first.verdict, again.verdict) : first.verdict;
    if (permitsAction(recorded.outcome) && passes(now, before)) this.#history.note((again ?? first).input);
    return {
      recorded,
      before,
      now: { verdict: now.verdict, rule: now.rule },
      sameRules,
      blind: first.blind || (again?.blind ?? false),
      unfollowed: first.verdict.verdict === "modify" && again === undefined,
    };
  }

  /** Decides on what was decided on then, and with the counters of then if that was by the same rules. */
  #step(recorded: RecordedVerdict, { action, at, counters }: RecordedStep): Step {
    const { event_type, subject, rules_hash } = recorded;
    const counted = this.#made(recorded) ? counters : this.#history.counters(subject, at);
    const input: DecisionInput = { event_type, action, subject, counters: counted, at };
    const verdict = this.#policy.decide(input);
    const kept = this.#keptPaths.get(rules_hash) ?? NO_PATHS;
    return { input, verdict, blind: this.#blindRules.blindTo(input, verdict.rule, kept) };
  }

  #made({ rules_hash }: RecordedVerdict): boolean {
    return rules_hash === this.#policy.hashes.rules_hash;
  }
}

/** Whether an action is modified as it was then, so that what it became is on record. */
function isSameChange(verdict: PolicyVerdict, from: ModifiedFrom): boolean {
  return verdict.verdict === "modify" && isDeepStrictEqual(verdict.patch, from.patch);
}

/** Whether an action that happened would have happened: by this policy, or with the word of the person who was asked. */
function passes(now: Said, before: Said): boolean {
  return permitsAction(now.verdict) || (now.verdict === "ask" && before.verdict === "ask");
}

/** A rule that looks at arguments: at which, and what else must hold. */
interface AskingRule {
  readonly index: number;
  readonly paths: readonly string[];
  readonly others: readonly Clause[];
}

/**
 * Finds where a policy would test arguments that a record does not hold. Only those are recorded that the policy of the
 * time tested, so a later one may test arguments that are lost.
 */
export class BlindRules {
  readonly #asking: readonly AskingRule[];
  readonly #indexes: ReadonlyMap<string, number>;

  constructor({ rules }: Policy) {
    this.#asking = rules.flatMap(askingRule);
    this.#indexes = new Map(rules.map(({ rule, index }) => [rule.name, index]));
  }

  /** Whether a rule that could have matched before the one that did asked for an argument that is not on record. */
  blindTo(input: DecisionInput, matched: string | undefined, kept: ReadonlySet<string>): boolean {
    if (this.#asking.length === 0) return false;
    const last = matched === undefined ? Infinity : (this.#indexes.get(matched) ?? Infinity);
    return this.#asking.some(
      ({ index, paths, others }) =>
        index <= last &&
        paths.some((path) => !kept.has(path) && !isThere(input.action.arguments, path)) &&
        others.every(({ holds }) => holds(input)),
    );
  }
}

function askingRule({ index, rule, clauses }: CompiledRule): AskingRule[] {
  const { arguments: asked = {}, ...rest } = rule.condition;
  const paths = new Set([...Object.keys(asked), ...argumentPathsIn(rest)]);
  if (paths.size === 0) return [];
  const nested = new Set(
    Object.entries(rest).flatMap(([name, member]) => (argumentPathsIn(member).length > 0 ? [name] : [])),
  );
  const others = clauses.filter(({ name }) => !name.startsWith("arguments.") && !nested.has(name));
  return [{ index, paths: [...paths], others }];
}

function isThere(value: unknown, path: string): boolean {
  let found = value;
  for (const name of path.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return false;
    found = Reflect.get(found, name);
  }
  return true;
}
