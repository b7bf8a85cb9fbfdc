import type { Draft } from "@reins/ledger";
import type {
  Action,
  ControlEvent,
  DecisionInput,
  PolicyHashes,
  PolicyVerdict,
  Subject,
} from "@reins/policy";
import { approvalTag } from "../approvals/approval.ts";
import { sessionKey } from "../record/drafts.ts";
import type { Decided, FailedOpen } from "./decision-context.ts";

/** What an action was before it was modified, and the verdict of the rule that did. */
export interface ModifiedFrom {
  /** The other harness that modified it, where no rule did. */
  readonly harness?: string;
  readonly verdict: Pick<PolicyVerdict, "rule" | "patch">;
  readonly input: DecisionInput;
}

/** What a verdict's entry is made from. */
export interface VerdictRecord {
  readonly input: DecisionInput;
  readonly decided: Omit<Decided, "entry">;
  readonly hashes: PolicyHashes | undefined;
  /** What the policy said to the input, before limits, harnesses and people were heard. */
  readonly policy?: Pick<PolicyVerdict, "verdict" | "rule"> | undefined;
  readonly modifiedFrom?: ModifiedFrom | undefined;
  /** Members of the arguments that the policy looks at; the others are not kept. */
  readonly argumentPaths: readonly string[];
  /** The external harnesses that failed and were skipped. */
  readonly failedOpen: readonly FailedOpen[];
}

/** What the entry of something that could not be decided is made from. */
export interface RefusalRecord extends Pick<VerdictRecord, "decided" | "hashes"> {
  readonly event: ControlEvent;
  readonly subject: Subject;
  readonly at: number;
}

/** How large the facts of an action before it was modified may be as JSON; larger ones are left out. */
const MAX_FACTS_BEFORE = 256 * 1024;
/** How much is recorded of a tool's name about which nothing else is known. */
const MAX_TOOL = 200;

/**
 * The entry of a verdict: who, what, by which rule, and everything needed to decide it again, with the keyed commitment
 * to exactly what the agent sent. The members of the payload stand in the order in which they are recorded, by name.
 */
export function verdictDraft(record: VerdictRecord, commitment?: string): Draft {
  const { input, decided, hashes, argumentPaths, failedOpen, policy, modifiedFrom } = record;
  const { action, subject, event_type, counters, at } = input;
  const { verdict, reason, rule, enforcement, approval } = decided;
  const payload = {
    ...(approval !== undefined && { approval }),
    at,
    constitution_hash: hashes?.constitution_hash ?? null,
    counters,
    enforcement,
    event_type,
    facts: factsFor(action, argumentPaths),
    ...(failedOpen.length > 0 && { harnesses: failedOpen }),
    ...(modifiedFrom && recordedFrom(modifiedFrom, argumentPaths)),
    ...(commitment !== undefined && { payload_commitment: commitment }),
    ...(policy &&
      overruled(policy, decided) && { policy: { verdict: policy.verdict, rule: policy.rule ?? null } }),
    reason,
    rule: rule ?? null,
    rules_hash: hashes?.rules_hash ?? null,
    subject,
    verdict,
  };
  return draftOf(subject, action.tool, decided, payload);
}

/** The entry of something that could not be decided: who, and why not. It holds no facts, because there are none. */
export function refusalDraft(record: RefusalRecord, commitment?: string): Draft {
  const { event, subject, at, decided, hashes } = record;
  const { verdict, reason, rule, enforcement } = decided;
  const payload = {
    at,
    constitution_hash: hashes?.constitution_hash ?? null,
    counters: {},
    enforcement,
    event_type: event.event_type,
    facts: null,
    ...(commitment !== undefined && { payload_commitment: commitment }),
    reason,
    rule: rule ?? null,
    rules_hash: hashes?.rules_hash ?? null,
    subject,
    verdict,
  };
  return draftOf(subject, toolIn(event.payload), decided, payload);
}

function draftOf(
  subject: Subject,
  tool: string,
  { verdict, approval }: VerdictRecord["decided"],
  payload: object,
): Draft {
  return {
    quality: "policy_verdict",
    actor: subject.agent,
    target: tool,
    payload,
    entity_id: sessionKey(subject),
    tags: approval === undefined ? ["verdict", verdict] : ["verdict", verdict, approvalTag(approval)],
  };
}

/** The tool that a payload names in the usual place, if it does. */
function toolIn(payload: unknown): string {
  if (typeof payload !== "object" || payload === null) return "";
  const { tool_name, tool } = { tool_name: undefined, tool: undefined, ...payload };
  const name: unknown = tool_name ?? tool;
  return typeof name === "string" ? name.slice(0, MAX_TOOL).toWellFormed() : "";
}

/** The change of another harness has a name of its own, because no rule makes it again. */
function recordedFrom(
  { harness, verdict, input }: ModifiedFrom,
  argumentPaths: readonly string[],
): { readonly modified_by: object } | { readonly modified_from: object } {
  const { action, at, counters } = input;
  const facts = factsFor(action, argumentPaths);
  const before = {
    at,
    facts: JSON.stringify(facts).length <= MAX_FACTS_BEFORE ? facts : null,
    counters,
  };
  if (harness !== undefined) return { modified_by: { harness, ...before } };
  return { modified_from: { rule: verdict.rule, patch: verdict.patch, ...before } };
}

/** An action with no more of its arguments than the rules look at. */
function factsFor(action: Action, paths: readonly string[]): Action {
  const kept: Record<string, unknown> = {};
  for (const path of paths) {
    const value = memberAt(action.arguments, path.split("."));
    if (value !== undefined) kept[path] = value;
  }
  const { claims, doubts, effects, opaque, tool } = action;
  return { arguments: kept, claims, doubts, effects, opaque, tool };
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
