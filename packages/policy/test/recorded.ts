import type { Action, DecisionInput } from "../src/action.ts";
import { withMembers } from "../src/backtest/recorded-verdict.ts";
import { loadPolicy } from "../src/constitution/load.ts";
import type { Policy } from "../src/decision/policy.ts";
import { History } from "../src/decision/policy.ts";
import { afterModify, type PolicyVerdict } from "../src/decision/verdict.ts";
import type { Subject } from "../src/subject.ts";

/** A policy of these rules. */
export function policyOf(rules: string): Policy {
  return loadPolicy({ file: "constitution.yaml", rules, prose: new Uint8Array() });
}

/** What happens, where it differs from the usual. */
export interface Deed {
  readonly tool?: string;
  readonly effects?: Action["effects"];
  readonly arguments?: unknown;
  readonly subject?: Partial<Subject>;
  readonly at?: number;
  readonly event_type?: string;
}

const ann: Subject = {
  user: "ann",
  tenant: "default",
  roles: [],
  scopes: [],
  agent: "coder",
  trust: "registered",
  session: "s1",
  started: "interactive",
  chain: [],
  depth: 0,
  mode: "default",
  enforcement: "asked",
};

/** What is decided on. */
export function inputOf(deed: Deed, history?: History): DecisionInput {
  const subject = { ...ann, ...deed.subject };
  const at = deed.at ?? 0;
  const { tool = "bash", effects = [] } = deed;
  return {
    event_type: deed.event_type ?? "pre_action",
    action: { tool, effects, opaque: false, doubts: [], claims: {}, arguments: deed.arguments ?? {} },
    subject,
    counters: history?.counters(subject, at) ?? {},
    at,
  };
}

/** The payload of a verdict's entry, with the arguments under the paths that the policy looks at. */
export function payloadOf(
  policy: Policy,
  input: DecisionInput,
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  const { verdict, rule, reason } = policy.decide(input);
  const { subject, event_type, counters, at } = input;
  const whole = {
    verdict,
    rule: rule ?? null,
    reason,
    ...policy.hashes,
    event_type,
    at,
    subject,
    facts: factsOf(policy, input),
    counters,
    ...more,
  };
  return JSON.parse(JSON.stringify(whole));
}

/** The payload of what a rule of the policy makes of an action, and what is decided on instead. */
export function modifiedPayloadOf(policy: Policy, input: DecisionInput): Record<string, unknown> {
  const first = policy.decide(input);
  const became = modifiedInput(policy, input);
  const { verdict, rule } = policy.decide(became);
  const outcome = afterModify(first, { verdict, rule });
  const { at, counters } = input;
  return payloadOf(policy, became, {
    verdict: outcome.verdict,
    rule: outcome.rule ?? null,
    policy: { verdict, rule: rule ?? null },
    modified_from: { rule: first.rule, patch: patchOf(first), at, facts: factsOf(policy, input), counters },
  });
}

/** What a rule of the policy makes of an action. */
function modifiedInput(policy: Policy, input: DecisionInput): DecisionInput {
  const patch = patchOf(policy.decide(input));
  return { ...input, action: { ...input.action, arguments: withMembers(input.action.arguments, patch) } };
}

function patchOf(verdict: PolicyVerdict): Readonly<Record<string, unknown>> {
  return verdict.verdict === "modify" ? verdict.patch : {};
}

function factsOf(policy: Policy, { action }: DecisionInput): Action {
  const kept = policy.argumentPaths.flatMap((path) => {
    const value = path
      .split(".")
      .reduce<unknown>(
        (found, name) => (found as Record<string, unknown> | undefined)?.[name],
        action.arguments,
      );
    return value === undefined ? [] : [[path, value]];
  });
  return { ...action, arguments: Object.fromEntries(kept) };
}

/** The payloads of what happens under a policy, one deed after the other. */
export function payloadsUnder(policy: Policy, deeds: readonly Deed[]): Record<string, unknown>[] {
  const history = new History(policy.sequences);
  return deeds.map((deed) => {
    const input = inputOf(deed, history);
    const { verdict } = policy.decide(input);
    const modified = verdict === "modify";
    const payload = modified ? modifiedPayloadOf(policy, input) : payloadOf(policy, input);
    if (payload.verdict === "allowed" || payload.verdict === "modify")
      history.note(modified ? modifiedInput(policy, input) : input);
    return payload;
  });
}
