import type { Draft } from "@reins/ledger";
import { type Harness, type Subject, sessionKey } from "@reins/supervisor";

/** The kind of verdict that is given to a tool before it is offered to a model. */
export const TOOL_GATE = "tool_gate";

/** What the policy says to offering a tool. */
export interface ToolGate {
  readonly tool: string;
  /** `ask`: it is offered, and each call waits for a person. */
  readonly verdict: string;
  readonly rule: string | undefined;
  readonly reason: string;
}

/** Asks the policy about tools, all at once. */
export function gateTools(
  { supervisor }: Pick<Harness, "supervisor">,
  subject: Subject,
  tools: readonly string[],
): readonly ToolGate[] {
  return tools.map((tool) => {
    const outlook = supervisor.outlook(tool, subject);
    if (!outlook) return { tool, verdict: "blocked", rule: undefined, reason: "no policy is loaded" };
    const { verdict, rule, reason } = outlook;
    return { tool, verdict, rule, reason };
  });
}

/** The entry of such a verdict. It holds no facts: nothing was to be done yet. */
export function gateDraft(
  { policies }: Pick<Harness, "policies">,
  subject: Subject,
  { tool, verdict, rule, reason }: ToolGate,
  at: Date,
): Draft {
  const hashes = policies.policyFor(subject.tenant)?.hashes;
  return {
    quality: "policy_verdict",
    actor: subject.agent,
    target: tool,
    entity_id: sessionKey(subject),
    tags: [TOOL_GATE, verdict],
    payload: {
      verdict,
      reason,
      rule: rule ?? null,
      enforcement: subject.enforcement,
      constitution_hash: hashes?.constitution_hash ?? null,
      rules_hash: hashes?.rules_hash ?? null,
      event_type: TOOL_GATE,
      at: at.getTime(),
      trust: subject.trust,
      facts: null,
      counters: {},
    },
  };
}
