import { z } from "zod";
import type { Action } from "../action.ts";
import type { Counters } from "../conditions/input.ts";
import { RuleVerdict } from "../constitution/constitution.ts";
import type { Said } from "../decision/verdict.ts";
import { PLACES } from "../effect.ts";
import type { Subject } from "../subject.ts";
import { withMembers } from "./members.ts";
import { RecordedSubjects } from "./recorded-subjects.ts";

/** What a rule decided on, and when. */
export interface RecordedStep {
  readonly action: Action;
  readonly counters: Counters;
  readonly at: number;
}

/** What an action was before a rule modified it. */
export interface ModifiedFrom extends RecordedStep {
  readonly rule: string;
  readonly patch: Readonly<Record<string, unknown>>;
}

/** A verdict of the past with everything that it was decided on. */
export interface RecordedVerdict extends RecordedStep {
  readonly event_type: string;
  readonly subject: Subject;
  readonly rules_hash: string;
  /** What the policy itself said to the action, before limits, harnesses and people were heard. */
  readonly said: Said;
  /** Said where the action is what a rule made of another. */
  readonly modified_from: ModifiedFrom | undefined;
  /** What came of it in the end. */
  readonly outcome: RuleVerdict;
}

/**
 * Why a verdict cannot be decided again: no policy was in force, its entry does not hold the facts, or it holds some
 * that this version does not understand.
 */
export type Unreplayable = "no_policy" | "no_facts" | "unreadable";

const path = {
  path: z.string(),
  place: z.enum(PLACES),
  inside: z.string().exactOptional(),
  deep: z.literal(true).exactOptional(),
};

const Effect = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("read"), ...path, passing: z.literal(true).exactOptional() }),
  z.object({
    kind: z.literal("write"),
    ...path,
    destroys: z.boolean(),
    recoverable: z.boolean().exactOptional(),
  }),
  z.object({
    kind: z.literal("exec"),
    command: z.string(),
    arguments: z.array(z.string().nullable()),
    opaque: z.boolean(),
  }),
  z.object({ kind: z.literal("net"), host: z.string(), looks: z.literal(true).exactOptional() }),
]);

const Claims = z.object({
  title: z.string().exactOptional(),
  kind: z.string().exactOptional(),
  risk: z.string().exactOptional(),
});

const Facts = z.object({
  tool: z.string(),
  effects: z.array(Effect),
  opaque: z.boolean(),
  unaccounted: z.literal(true).exactOptional(),
  doubts: z.array(z.string()),
  claims: Claims,
  arguments: z.unknown(),
});

const RecordedSaid = z.object({ verdict: RuleVerdict, rule: z.string().nullable() });
const RecordedCounters = z.record(z.string(), z.number());

const RecordedFrom = z.object({
  rule: z.string(),
  patch: z.record(z.string(), z.unknown()),
  at: z.number(),
  /** Left out where they were too large to be kept twice. */
  facts: Facts.nullable(),
  counters: RecordedCounters,
});

const Payload = RecordedSaid.extend({
  rules_hash: z.string(),
  event_type: z.string(),
  at: z.number(),
  subject: z.unknown(),
  facts: Facts,
  counters: RecordedCounters,
  policy: RecordedSaid.exactOptional(),
  modified_from: RecordedFrom.exactOptional(),
});

/** Reads the payloads of `policy_verdict` entries. */
export class RecordReader {
  readonly #subjects = new RecordedSubjects();

  /** The verdict in a payload, or why it cannot be decided again. */
  read(payload: unknown): RecordedVerdict | Unreplayable {
    const { data } = Payload.safeParse(payload);
    const subject = data && this.#subjects.read(data.subject);
    if (!data || !subject) return reasonOf(payload);
    const { facts, policy, verdict, rule, rules_hash, event_type, at, counters, modified_from: from } = data;
    const said = policy ?? { verdict, rule };
    // To modify something is decided on what it was before.
    if (from ? from.facts === null : said.verdict === "modify") return "no_facts";
    return {
      event_type,
      at,
      subject,
      action: actionIn(facts),
      counters,
      rules_hash,
      said: { verdict: said.verdict, rule: said.rule ?? undefined },
      modified_from: from?.facts ? { ...from, action: actionIn(from.facts) } : undefined,
      outcome: verdict,
    };
  }
}

function actionIn(facts: z.infer<typeof Facts>): Action {
  return { ...facts, arguments: nested(facts.arguments) };
}

/** The record keeps arguments under the dotted paths that rules look at; rules look for them nested. */
function nested(kept: unknown): unknown {
  if (typeof kept !== "object" || kept === null || Array.isArray(kept)) return kept;
  const names = Object.keys(kept);
  if (!names.some((name) => name.includes("."))) return kept;
  // The shortest first, so that a whole object does not hide a member of it that is kept as well.
  const sorted = names.sort((left, right) => left.length - right.length);
  return withMembers({}, Object.fromEntries(sorted.map((name) => [name, Reflect.get(kept, name)])));
}

const WithoutPolicy = z.object({ rules_hash: z.null(), facts: z.unknown() });
const WithFacts = z.object({ facts: z.object({}) });

function reasonOf(payload: unknown): Unreplayable {
  if (WithoutPolicy.safeParse(payload).success) return "no_policy";
  return WithFacts.safeParse(payload).success ? "unreadable" : "no_facts";
}
