import {
  type AhpEvent,
  type Call,
  closedDecision,
  DECISIONS,
  type Decisions,
  decode,
  type EventCall,
  type Payloads,
  type SpecialisedEventType,
  type SpecialisedHandlers,
} from "@reins/ahp";
import type { ControlEvent, Enforcement, Subagent, Subject } from "@reins/policy";
import type { z } from "zod";
import type { Decided, RequestContext, Workspace } from "../decision/decision.ts";
import { SupervisorError } from "../errors.ts";
import type { Identity } from "../identity/identity.ts";
import { isOperator, type Principal } from "../identity/principal.ts";
import type { SupervisorParts } from "./handlers.ts";

/** The longest name of a session, in UTF-16 units. Every entry of the session carries it. */
const MAX_SESSION_ID = 1_024;
const MAX_SUBAGENT = 256;

/** The sender of a message, once it has its turn within the quota of its principal. */
export async function senderOf(
  { identity, quotas }: Pick<SupervisorParts, "identity" | "quotas">,
  call: Pick<Call, "peer">,
): Promise<Principal> {
  const principal = await principalOf(identity, call);
  await quotas?.turn("messages", principal);
  return principal;
}

/** The current principal of a message's sender. A peer without authentication is the operator at this machine. */
async function principalOf(identity: Identity, { peer }: Pick<Call, "peer">): Promise<Principal> {
  if (peer.principal === undefined) return identity.local();
  const principal = await identity.current({ id: peer.principal });
  if (principal) return principal;
  throw new SupervisorError("forbidden", "the token is no longer valid");
}

/** An event that a hook may have sent. */
export type HookEvent = Pick<AhpEvent, "event_type" | "session_id" | "agent_id" | "payload" | "metadata">;

/** What an agent does by itself for a prompt, before its model sees it, and asks no hook about. */
export interface PromptStep {
  /** The tool whose call it amounts to, and whose table applies; by default that of the agent. */
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly tools?: string;
  /** What it does, in words that follow "the agent would". */
  readonly title: string;
  /** What it reads, where it reads. */
  readonly path?: string;
}

/** The sessions of agents whose hooks ask Reins. */
export interface HookPort {
  /**
   * What the agent would do by itself for the prompt of an event, but for what was allowed when it was asked about before.
   * Rejects where that cannot be known, or reaches what it may not.
   */
  stepsOf(event: HookEvent, principal: Principal, workspace: Workspace): Promise<readonly PromptStep[]>;
  /** Notes that a step was allowed: people who are asked about another step have the prompt asked about again. */
  stepAllowed(event: HookEvent, step: PromptStep, entry: string | undefined): void;
  /** Where the agent of an event works, if a hook sent it; rejects as forbidden where it may not. */
  workspaceOf(event: HookEvent, principal: Principal): Promise<Workspace | undefined>;
  /**
   * The call whose end an event of a hook reports, which then is over: the entry of its verdict, or none where no call of
   * that name was allowed. `undefined` where no hook sent the event.
   */
  endedCall(event: HookEvent, subject: Subject): { readonly entry: string | undefined } | undefined;
  /** Whether an event of a hook says that a sub-agent begins or ends. */
  subagentChange(event: HookEvent): "subagent_start" | "subagent_stop" | undefined;
  /** Shows an event of a hook in its session, with what was decided. */
  show(event: HookEvent, subject: Subject, decision?: Readonly<Record<string, unknown>>): Promise<void>;
}

/** The token of a delegated session that came with an event, if one did. */
function childTokenIn(metadata: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const token = metadata?.session_token;
  if (token === undefined || token === null) return undefined;
  // Any other value is a wrong token, not a missing one.
  return typeof token === "string" ? token : "";
}

/** The subject of an event: what the harness knows, with the event's own word only for the name of the session. */
export function subjectOf(
  identity: Identity,
  principal: Principal,
  event: AhpEvent,
  enforcement: Enforcement,
): Subject {
  if (event.session_id.length > MAX_SESSION_ID)
    throw new SupervisorError("invalid", `session_id is longer than ${MAX_SESSION_ID} characters`);
  const claimed = event.metadata?.tenant;
  if (claimed !== undefined && claimed !== null && claimed !== principal.tenant)
    throw new SupervisorError("forbidden", "the event names another tenant than its token's");
  const childToken = childTokenIn(event.metadata);
  const subagent = isOperator(principal) ? subagentIn(event.metadata) : undefined;
  return identity.subjectFor({
    principal,
    agent: event.agent_id,
    session: event.session_id,
    enforcement,
    ...(subagent && { subagent }),
    ...(childToken !== undefined && { childToken }),
  });
}

/** The sub-agent that a hook's event is about: its agent's own word, as is all that a hook says. */
function subagentIn(metadata: AhpEvent["metadata"]): Subagent | undefined {
  const { subagent: id, subagent_type: type } = Object(metadata?.hook);
  if (typeof id !== "string" || id === "") return undefined;
  return { id: id.slice(0, MAX_SUBAGENT), type: typeof type === "string" ? type.slice(0, MAX_SUBAGENT) : "" };
}

/** Records that an event was refused because of whom it claims to be from; other faults are not its sender's. */
export async function recordRefusal(
  { identity, supervisor, workspaceOf }: Pick<SupervisorParts, "identity" | "supervisor" | "workspaceOf">,
  principal: Principal,
  event: AhpEvent,
  error: unknown,
): Promise<Decided | undefined> {
  if (!(error instanceof SupervisorError) || error.code !== "forbidden") return undefined;
  const { agent_id: agent, session_id: session } = event;
  const subject = identity.refusedSubject({ principal, agent, session, enforcement: "asked" });
  return supervisor.refuse(event, subject, { workspace: workspaceOf(event) }, error.message);
}

/** Who asks, and where; or the block that is on the record because of whom an event claims to be from. */
export type Asker =
  | { readonly subject: Subject; readonly requestContext: RequestContext }
  | { readonly refused: Decided };

/** Determines the requester. It is checked again right before an action is allowed. */
export async function askerOf(
  parts: Pick<SupervisorParts, "identity" | "supervisor" | "workspaceOf" | "hooks">,
  event: AhpEvent,
  call: Pick<Call, "peer">,
  principal: Principal,
): Promise<Asker> {
  const { identity, workspaceOf } = parts;
  const confirm = async () => {
    subjectOf(identity, await principalOf(identity, call), event, "asked");
  };
  try {
    const subject = subjectOf(identity, principal, event, "asked");
    const workspace = (await parts.hooks?.workspaceOf(event, principal)) ?? workspaceOf(event);
    return { subject, requestContext: { workspace, confirm } };
  } catch (error) {
    const refused = await recordRefusal(parts, principal, event, error);
    if (refused) return { refused };
    throw error;
  }
}

/** The requester of an answer, which identity and policy allow. */
export interface FamilyAsker {
  readonly principal: Principal;
  readonly subject: Subject;
  readonly requestContext: RequestContext;
  readonly signal: AbortSignal;
}

/** Answers the events of the typed families: what the user intends, what a workspace holds, how to plan. */
export type FamilyAnswers = {
  readonly [Type in Family]: (payload: Payloads[Type], asker: FamilyAsker) => Promise<unknown>;
};

/** The families that are answered; a confirmation is for a person. */
type Family = Exclude<SpecialisedEventType, "confirmation">;

/**
 * The handlers of the typed families. Each event is decided like any other step, on the record; an allowed event is
 * answered by another harness of the tenant that says it answers such events, or by the defaults. A confirmation is a
 * question to a person, and waits among the approvals.
 */
export function familyHandlers(parts: SupervisorParts): Required<SpecialisedHandlers> {
  const answer =
    <Type extends Family>(
      type: Type,
      advise: (payload: Payloads[Type], tenant: string) => Promise<Decisions[Type] | undefined> | undefined,
    ) =>
    (payload: Payloads[Type], call: EventCall) =>
      answered(parts, type, payload, call, advise);
  return {
    idle: answer("idle", (payload, tenant) => parts.advise?.(tenant, "idle", payload)),
    context_perception: answer("context_perception", (payload, tenant) =>
      parts.advise?.(tenant, "context_perception", payload),
    ),
    memory_recall: answer("memory_recall", (payload, tenant) =>
      parts.advise?.(tenant, "memory_recall", payload),
    ),
    planning: answer("planning", (payload, tenant) => parts.advise?.(tenant, "planning", payload)),
    reasoning: answer("reasoning", (payload, tenant) => parts.advise?.(tenant, "reasoning", payload)),
    rate_limit: answer("rate_limit", (payload, tenant) => parts.advise?.(tenant, "rate_limit", payload)),
    intent_detection: answer("intent_detection", (payload, tenant) =>
      parts.advise?.(tenant, "intent_detection", payload),
    ),
    confirmation: (payload, call) => confirmed(parts, payload, call),
  };
}

async function answered<Type extends Family>(
  parts: SupervisorParts,
  type: Type,
  payload: Payloads[Type],
  call: EventCall,
  advise: (payload: Payloads[Type], tenant: string) => Promise<Decisions[Type] | undefined> | undefined,
): Promise<Decisions[Type]> {
  const { decided, asker } = await decidedOn(parts, call.event, call);
  if (decided.verdict !== "allowed" || !asker) return closedDecision(type, decided.reason);
  const advice = await advise(payload, asker.subject.tenant);
  if (advice !== undefined) return advice;
  if (!parts.families) return closedDecision(type, `nothing here answers ${type}`);
  const schemas: { readonly [Key in SpecialisedEventType]: z.ZodType<Decisions[Key]> } = DECISIONS;
  return decode(schemas[type], await parts.families[type](payload, asker));
}

async function confirmed(
  parts: SupervisorParts,
  payload: Payloads["confirmation"],
  call: EventCall,
): Promise<Decisions["confirmation"]> {
  const { confirmation_type, message, options } = payload;
  // Shown and bound like the arguments of a tool, so that a yes counts for these words alone.
  const asked = { confirmation_type, message, ...(options ? { options } : {}) };
  const event = { ...call.event, payload: { tool_name: "confirmation", arguments: asked } };
  const { decided, asker } = await decidedOn(parts, event, call, "the agent wants a person to confirm it");
  const advice =
    asker && decided.verdict === "ask"
      ? await parts.advise?.(asker.subject.tenant, "confirmation", payload)
      : undefined;
  if (advice?.decision === "reject") return advice;
  switch (decided.verdict) {
    case "allowed":
      return { decision: "approve" };
    case "ask":
      return { decision: "escalate" };
    default:
      return closedDecision("confirmation", decided.reason);
  }
}

/** The verdict on an event, with the requester where it could be determined. */
async function decidedOn(
  parts: SupervisorParts,
  event: AhpEvent & ControlEvent,
  call: EventCall,
  ask?: string,
): Promise<{ readonly decided: Decided; readonly asker?: FamilyAsker }> {
  const principal = await senderOf(parts, call);
  const found = await askerOf(parts, event, call, principal);
  if ("refused" in found) return { decided: found.refused };
  const { subject } = found;
  const requestContext = { ...found.requestContext, ...(ask !== undefined && { ask }) };
  const decided = await parts.supervisor.decide(event, subject, requestContext);
  return { decided, asker: { principal, subject, requestContext, signal: call.signal } };
}
