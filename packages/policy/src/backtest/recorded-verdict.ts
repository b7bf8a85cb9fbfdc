import { z } from "zod";
import type { Action } from "../action.ts";
import type { Counters } from "../conditions/input.ts";
import { RuleVerdict } from "../constitution/constitution.ts";
import { PLACES } from "../effect.ts";
import type { Subject } from "../subject.ts";
import { withMembers } from "./members.ts";
import { RecordedSubjects } from "./recorded-subjects.ts";

/** A verdict and the rule it is from; no rule says that none matched. */
export interface Said {
  readonly verdict: RuleVerdict;
  readonly rule: string | undefined;
}

/** A verdict of the past with everything that it was decided on. */
export interface RecordedVerdict {
  readonly event_type: string;
  readonly at: number;
  readonly subject: Subject;
  readonly action: Action;
  readonly counters: Counters;
  readonly rules_hash: string;
  /** What the policy itself said, before limits, harnesses and people were heard. */
  readonly said: Said;
  /** What came of it in the end. */
  readonly outcome: RuleVerdict;
}

/**
 * Why a verdict cannot be decided again: no policy was in force, its entry holds no facts, or it holds some that this
 * version does not understand.
 */
export type Unreplayable = "no_policy" | "no_facts" | "unreadable";

const path = { path: z.string(), place: z.enum(PLACES), inside: z.string().exactOptional() };

const Effect = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("read"), ...path }),
  z.object({ kind: z.literal("write"), ...path, destroys: z.boolean() }),
  z.object({
    kind: z.literal("exec"),
    command: z.string(),
    arguments: z.array(z.string().nullable()),
    opaque: z.boolean(),
  }),
  z.object({ kind: z.literal("net"), host: z.string() }),
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
  doubts: z.array(z.string()),
  claims: Claims,
  arguments: z.unknown(),
});

const RecordedSaid = z.object({ verdict: RuleVerdict, rule: z.string().nullable() });

const Payload = RecordedSaid.extend({
  rules_hash: z.string(),
  event_type: z.string(),
  at: z.number(),
  subject: z.unknown(),
  facts: Facts,
  counters: z.record(z.string(), z.number()),
  policy: RecordedSaid.exactOptional(),
});

/** Reads the payloads of `policy_verdict` entries. */
export class RecordReader {
  readonly #subjects = new RecordedSubjects();

  /** The verdict in a payload, or why it cannot be decided again. */
  read(payload: unknown): RecordedVerdict | Unreplayable {
    const { data } = Payload.safeParse(payload);
    const subject = data && this.#subjects.read(data.subject);
    if (!data || !subject) return reasonOf(payload);
    const { facts, policy, verdict, rule, rules_hash, event_type, at, counters } = data;
    const said = policy ?? { verdict, rule };
    return {
      event_type,
      at,
      subject,
      action: { ...facts, arguments: nested(facts.arguments) },
      counters,
      rules_hash,
      said: { verdict: said.verdict, rule: said.rule ?? undefined },
      outcome: verdict,
    };
  }
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
