import type { Draft } from "@reins/ledger";
import { type Harness, type Subject, sessionKey } from "@reins/supervisor";

/** The policy's verdict on offering one tool to a model. */
export interface ToolGate {
  readonly tool: string;
  /** `ask`: the tool is offered, and each call waits for a person. */
  readonly verdict: string;
  readonly rule: string | undefined;
  readonly reason: string;
  readonly constitution_hash: string | null;
}

/** The control point of tools that a model is to be offered. Nothing is done by it, so it is decided without an event. */
export interface ToolOffer {
  readonly tools: readonly string[];
  /** Why the agent takes none of them, whatever the rules say. */
  readonly withheld?: string | undefined;
}

/** Gates each tool of an offer by what the policy has for it before its arguments are known. */
export function gateTools(
  { supervisor, policies }: Pick<Harness, "supervisor" | "policies">,
  subject: Subject,
  { tools, withheld }: ToolOffer,
): readonly ToolGate[] {
  const constitution_hash = policies.inForce.get(subject.tenant)?.hashes.constitution_hash ?? null;
  return tools.map((tool) => {
    const outlook = supervisor.outlook(tool, subject);
    const { verdict, rule, reason } = outlook ?? {
      verdict: "blocked",
      rule: undefined,
      reason: "no policy is loaded",
    };
    if (withheld === undefined || verdict === "blocked")
      return { tool, verdict, rule, reason, constitution_hash };
    return { tool, verdict: "blocked", rule: undefined, reason: withheld, constitution_hash };
  });
}

/** The entry of an offer. It has no facts, because nothing is done by it. */
export function offerDraft(
  { policies }: Pick<Harness, "policies">,
  subject: Subject,
  gates: readonly ToolGate[],
): Draft & { readonly payload: Readonly<Record<string, unknown>> } {
  const hashes = policies.inForce.get(subject.tenant)?.hashes;
  const offered = gates.filter(({ verdict }) => verdict !== "blocked");
  const withheld = gates.filter(({ verdict }) => verdict === "blocked");
  const verdict = withheld.length === 0 ? "allowed" : offered.length === 0 ? "blocked" : "modify";
  return {
    quality: "policy_verdict",
    actor: subject.agent,
    target: "tools",
    entity_id: sessionKey(subject),
    tags: ["tool_offer", verdict],
    payload: {
      event_type: "tool_offer",
      verdict,
      reason:
        withheld.length === 0
          ? "every tool is offered"
          : `withheld: ${withheld.map(({ tool }) => tool).join(", ")}`,
      rule: null,
      offered: offered.map(({ tool, verdict, rule }) => ({ tool, verdict, rule: rule ?? null })),
      withheld: withheld.map(({ tool, rule, reason }) => ({ tool, rule: rule ?? null, reason })),
      enforcement: subject.enforcement,
      constitution_hash: hashes?.constitution_hash ?? null,
      rules_hash: hashes?.rules_hash ?? null,
      trust: subject.trust,
      facts: null,
      counters: {},
    },
  };
}
