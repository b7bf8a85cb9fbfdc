import type { DecisionInput } from "../action.ts";
import { blake3Hex } from "../blake3.ts";
import { compilePlain, many } from "../conditions/compile.ts";
import { rulesOf } from "../constitution/approval-lists.ts";
import { milliseconds } from "../constitution/condition.ts";
import type { ConstitutionFile, Limit, Rule } from "../constitution/constitution.ts";
import type { ConstitutionText } from "../constitution/load.ts";
import type { Sequence } from "../history.ts";
import { type CompiledRule, compileRule, permits } from "./compiled-rule.ts";
import { type Explanation, explain } from "./explain.ts";
import { RuleIndex } from "./rule-index.ts";
import type { PolicyVerdict } from "./verdict.ts";

/** What a verdict says when no rule matched. */
export const NO_RULE = "no matching policy rule";
/** What it says of what no tool does, where no rule names an event: such rules are about tools, as HAAK's are. */
const TOOLS_ONLY = "the constitution is about tools alone";
const TOOLLESS: ReadonlySet<string> = new Set(["session_start", "pre_prompt"]);
/** Events that ask for advice and touch nothing: rules that name events are about them, and those that block. */
const ADVICE: ReadonlySet<string> = new Set([
  "idle",
  "context_perception",
  "memory_recall",
  "planning",
  "reasoning",
  "rate_limit",
  "confirmation",
  "intent_detection",
]);

/** The two names of a policy: of its prose, and of its rules. */
export interface PolicyHashes {
  readonly constitution_hash: string;
  readonly rules_hash: string;
}

/** A constitution made ready to decide. Deciding is pure: the same input gets the same verdict, then and now. */
export class Policy {
  readonly file: ConstitutionFile;
  readonly hashes: PolicyHashes;
  /** What it was made from. */
  readonly text: ConstitutionText;
  /** What must be counted for the rules that ask about earlier actions. */
  readonly sequences: readonly Sequence[];
  readonly rules: readonly CompiledRule[];
  /** The limits, each with which actions count against it. */
  readonly limits: readonly { readonly limit: Limit; readonly applies: (input: DecisionInput) => boolean }[];
  /** The members of the arguments that rules look at, by dotted path; the others need not be kept to decide again. */
  readonly argumentPaths: readonly string[];
  readonly #index: RuleIndex;
  readonly #verdicts: readonly PolicyVerdict[];
  readonly #noRule: PolicyVerdict;
  /** The verdict on what no tool does and no rule is about. */
  readonly #toolless: PolicyVerdict;
  /** The rules that name events, and the verdict on a request for advice that none of them is about. */
  readonly #aboutEvents: ReadonlySet<CompiledRule>;
  readonly #advice: PolicyVerdict;

  constructor(file: ConstitutionFile, text: ConstitutionText) {
    this.file = file;
    this.text = text;
    const hashes = { constitution_hash: blake3Hex(text.prose), rules_hash: blake3Hex(text.rules) };
    this.hashes = hashes;
    const sequences: Sequence[] = [];
    const rules = rulesOf(file);
    const counted = new Map<string, number>();
    this.rules = rules.map((rule, index) => {
      const keys = new Map<object, string>();
      for (const sequence of [...many(rule.condition.count), ...many(rule.condition.after)]) {
        // Numbered on, because two rules may have one name and what they ask about must not count as one.
        const number = counted.get(rule.name) ?? 0;
        counted.set(rule.name, number + 1);
        const key = `${rule.name}#${number}`;
        keys.set(sequence, key);
        const within = sequence.within === undefined ? undefined : milliseconds(sequence.within);
        sequences.push({
          key,
          by: sequence.by,
          within,
          clauses: compilePlain(sequence.of, { tools: file.tools, permits: permits(rule) }),
        });
      }
      return compileRule(rule, index, file.tools, (sequence) => keys.get(sequence) ?? "");
    });
    this.sequences = sequences;
    this.limits = file.limits.map((limit) => {
      const clauses = compilePlain(limit.condition, { tools: file.tools, permits: false });
      return { limit, applies: (input) => clauses.every(({ holds }) => holds(input)) };
    });
    this.argumentPaths = argumentPathsIn(file);
    this.#index = new RuleIndex(this.rules);
    this.#verdicts = rules.map((rule) => verdictOf(rule, hashes));
    this.#noRule = { verdict: "blocked", reason: NO_RULE, rule: undefined, ...hashes };
    this.#aboutEvents = new Set(this.rules.filter(({ index }) => names(rules[index]?.condition, "event")));
    this.#advice = { verdict: "allowed", reason: "no rule is about this event", rule: undefined, ...hashes };
    this.#toolless = rules.some(({ condition }) => names(condition, "event"))
      ? this.#noRule
      : { verdict: "allowed", reason: TOOLS_ONLY, rule: undefined, ...hashes };
  }

  /**
   * The verdict on an action: that of the first rule that matches, and blocked when none does. Rules of which none names
   * an event are about tools alone: under them sessions begin and prompts pass where no rule says otherwise.
   */
  decide(input: DecisionInput): PolicyVerdict {
    const rule = this.#index.first(input);
    if (ADVICE.has(input.event_type)) return this.#advise(rule);
    const otherwise = TOOLLESS.has(input.event_type) ? this.#toolless : this.#noRule;
    return (rule && this.#verdicts[rule.index]) ?? otherwise;
  }

  /** A rule that allows tools or asks about them does not apply to advice; a rule that blocks a subject does. */
  #advise(rule: CompiledRule | undefined): PolicyVerdict {
    const verdict = rule && this.#verdicts[rule.index];
    return verdict && (verdict.verdict === "blocked" || this.#aboutEvents.has(rule)) ? verdict : this.#advice;
  }

  /** Why the verdict is what it is: the rule that matched, and what failed in the ones before it. */
  explain(input: DecisionInput): Explanation {
    return explain(input, this.rules, this.decide(input));
  }
}

/** Every dotted path under an `arguments` condition, wherever in a file or a condition it stands. */
export function argumentPathsIn(value: unknown): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap(argumentPathsIn))];
  if (typeof value !== "object" || value === null) return [];
  const paths = Object.entries(value).flatMap(([name, member]) =>
    name === "arguments" && typeof member === "object" && member !== null
      ? Object.keys(member)
      : argumentPathsIn(member),
  );
  return [...new Set(paths)];
}

/** Whether a condition has a member of that name, wherever in it. */
function names(value: unknown, member: string): boolean {
  if (Array.isArray(value)) return value.some((one) => names(one, member));
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(
    ([name, inner]) => (name === member && inner !== undefined) || names(inner, member),
  );
}

function verdictOf(rule: Rule, { constitution_hash, rules_hash }: PolicyHashes): PolicyVerdict {
  const { verdict, name, patch, retry_after, quorum, approvers, four_eyes, expires } = rule;
  const reason = rule.reason || `rule "${name}"`;
  const base = { reason, rule: name, constitution_hash, rules_hash };
  // A rule has a patch if, and only if, its verdict is `modify`.
  if (patch) return { verdict: "modify", ...base, patch };
  switch (verdict) {
    case "allowed":
      return { verdict, ...base };
    case "ask":
      return {
        verdict,
        ...base,
        ...(quorum !== undefined && { quorum }),
        ...(approvers && { approvers }),
        ...(four_eyes && { four_eyes }),
        ...(expires !== undefined && { expires_ms: milliseconds(expires) }),
      };
    case "defer":
      return { verdict, ...base, retry_after_ms: milliseconds(retry_after ?? "1m") };
    default:
      return { verdict: "blocked", ...base };
  }
}
