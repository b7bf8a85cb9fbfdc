import type { Draft } from "@reins/ledger";
import type {
  Action,
  ControlEvent,
  DecisionInput,
  PolicyHashes,
  PolicyVerdict,
  Subject,
} from "@reins/policy";
import { approvalTag } from "../approvals/tags.ts";
import { sessionKey } from "../record/session-key.ts";
import type { Decided } from "./decided.ts";

/** What an action was before a rule modified it, and the verdict that did. */
export interface ModifiedFrom {
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
  /** The keyed commitment to exactly what the agent sent. */
  readonly commitment?: string | undefined;
  /** What else happened on the way, such as an external harness that was not reached. */
  readonly remarks: readonly string[];
}

/** What the entry of something that could not be decided is made from. */
export interface RefusalRecord extends Pick<VerdictRecord, "decided" | "hashes" | "commitment"> {
  readonly event: ControlEvent;
  readonly subject: Subject;
  readonly at: number;
}

/** How large the facts of an action before it was modified may be as JSON; larger ones are left out. */
const MAX_FACTS_BEFORE = 256 * 1024;
/** How much of the name is told of a tool about which nothing else is known. */
const MAX_TOOL = 200;

/** The entry of a verdict: who, what, by which rule, and everything needed to decide it again. */
export function verdictDraft(record: VerdictRecord): Draft {
  const { input, decided, hashes, argumentPaths, remarks, policy, modifiedFrom, commitment } = record;
  const { action, subject, event_type, counters, at } = input;
  return {
    ...entryOf(subject, action.tool, decided),
    payload: {
      ...verdictMembers(decided, hashes),
      event_type,
      at,
      subject: { ...subject },
      facts: factsFor(action, argumentPaths),
      counters: { ...counters },
      ...(policy &&
        overruled(policy, decided) && { policy: { verdict: policy.verdict, rule: policy.rule ?? null } }),
      ...(modifiedFrom && { modified_from: recordedFrom(modifiedFrom, argumentPaths) }),
      ...(decided.approval !== undefined && { approval: decided.approval }),
      ...(commitment !== undefined && { payload_commitment: commitment }),
      ...(remarks.length > 0 && { remarks }),
    },
  };
}

/** The entry of something that could not be decided: who, and why not. It holds no facts, because there are none. */
export function refusalDraft({ event, subject, at, decided, hashes, commitment }: RefusalRecord): Draft {
  return {
    ...entryOf(subject, toolIn(event.payload), decided),
    payload: {
      ...verdictMembers(decided, hashes),
      event_type: event.event_type,
      at,
      subject: { ...subject },
      facts: null,
      counters: {},
      ...(commitment !== undefined && { payload_commitment: commitment }),
    },
  };
}

function entryOf(
  subject: Subject,
  tool: string,
  { verdict, approval }: VerdictRecord["decided"],
): Omit<Draft, "payload"> {
  return {
    quality: "policy_verdict",
    actor: subject.agent,
    target: tool,
    entity_id: sessionKey(subject),
    tags: ["verdict", verdict, ...(approval === undefined ? [] : [approvalTag(approval)])],
  };
}

function verdictMembers(
  { verdict, reason, rule, enforcement }: VerdictRecord["decided"],
  hashes: PolicyHashes | undefined,
): object {
  return {
    verdict,
    reason,
    rule: rule ?? null,
    enforcement,
    constitution_hash: hashes?.constitution_hash ?? null,
    rules_hash: hashes?.rules_hash ?? null,
  };
}

/** The tool that a payload names in the usual place, as far as it can be told. */
function toolIn(payload: unknown): string {
  if (typeof payload !== "object" || payload === null) return "";
  const { tool_name, tool } = { tool_name: undefined, tool: undefined, ...payload };
  const name: unknown = tool_name ?? tool;
  return typeof name === "string" ? name.slice(0, MAX_TOOL).toWellFormed() : "";
}

function recordedFrom({ verdict, input }: ModifiedFrom, argumentPaths: readonly string[]): object {
  const { action, at, counters } = input;
  const facts = factsFor(action, argumentPaths);
  return {
    rule: verdict.rule,
    patch: verdict.patch,
    at,
    facts: JSON.stringify(facts).length <= MAX_FACTS_BEFORE ? facts : null,
    counters: { ...counters },
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
