import type { Draft } from "@reins/ledger";
import type { Action, DecisionInput, PolicyHashes, PolicyVerdict, Subject } from "@reins/policy";
import { z } from "zod";
import { approvalTag } from "../approvals/tags.ts";
import { redact } from "../record/redact.ts";
import { sessionKey } from "../record/session-key.ts";
import type { Decided } from "./decided.ts";

/** What a verdict's entry is made from. */
export interface VerdictRecord {
  readonly input: DecisionInput;
  readonly decided: Omit<Decided, "entry">;
  readonly hashes: PolicyHashes | undefined;
  /** What the policy said before limits, harnesses and people were heard. */
  readonly policy?: Pick<PolicyVerdict, "verdict" | "rule"> | undefined;
  /** Members of the arguments that the policy looks at; the others are not kept. */
  readonly argumentPaths: readonly string[];
  /** The keyed commitment to exactly what the agent sent. */
  readonly commitment?: string | undefined;
  /** What else happened on the way, such as an external harness that was not reached. */
  readonly remarks: readonly string[];
}

/** The entry of a verdict: who, what, by which rule, and everything needed to decide it again. */
export function verdictDraft(record: VerdictRecord): Draft {
  const { input, decided, hashes, argumentPaths, remarks, policy, commitment } = record;
  const { action, subject, event_type, counters, at } = input;
  return {
    quality: "policy_verdict",
    actor: subject.agent,
    target: action.tool,
    entity_id: sessionKey(subject),
    tags: [
      "verdict",
      decided.verdict,
      ...(decided.approval === undefined ? [] : [approvalTag(decided.approval)]),
    ],
    payload: {
      verdict: decided.verdict,
      reason: decided.reason,
      rule: decided.rule ?? null,
      enforcement: decided.enforcement,
      constitution_hash: hashes?.constitution_hash ?? null,
      rules_hash: hashes?.rules_hash ?? null,
      event_type,
      at,
      subject: { ...subject },
      facts: redact(factsFor(action, argumentPaths)),
      counters: { ...counters },
      ...(policy &&
        overruled(policy, decided) && { policy: { verdict: policy.verdict, rule: policy.rule ?? null } }),
      ...(decided.approval !== undefined && { approval: decided.approval }),
      ...(commitment !== undefined && { payload_commitment: commitment }),
      ...(remarks.length > 0 && { remarks }),
    },
  };
}

/** An action with no more of its arguments than the rules look at. */
function factsFor(action: Action, paths: readonly string[]): Action {
  const kept: Record<string, unknown> = {};
  for (const path of paths) {
    const value = memberAt(action.arguments, path.split("."));
    if (value !== undefined) kept[path] = value;
  }
  return { ...action, arguments: kept };
}

function memberAt(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return memberAt(Reflect.get(value, name), rest);
}

function overruled(
  policy: Pick<PolicyVerdict, "verdict" | "rule">,
  decided: Omit<Decided, "entry">,
): boolean {
  return policy.verdict !== decided.verdict || policy.rule !== decided.rule;
}

const Recorded = z.object({
  verdict: z.enum(["allowed", "modify"]),
  event_type: z.string(),
  at: z.number(),
  subject: z.custom<Subject>(isObject),
  facts: z.custom<Action>(isObject),
  counters: z.record(z.string(), z.number()),
});

/** What was decided on, from the payload of a verdict's entry; `undefined` where nothing was let through. */
export function recordedInput(payload: unknown): DecisionInput | undefined {
  const { data } = Recorded.safeParse(payload);
  return (
    data && {
      event_type: data.event_type,
      at: data.at,
      subject: data.subject,
      action: data.facts,
      counters: data.counters,
    }
  );
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
