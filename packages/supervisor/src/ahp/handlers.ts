import { type AhpEvent, type Decision, type EventCall, type Handlers, isContract } from "@reins/ahp";
import { amountOf, errorMessage } from "@reins/kit";
import type { Draft, Ledger } from "@reins/ledger";
import type { Subject } from "@reins/policy";
import type { Approvals } from "../approvals/approvals.ts";
import type { Decided, Workspace } from "../decision/decision.ts";
import type { CallEnd, OpenCall } from "../decision/observer.ts";
import type { Supervisor } from "../decision/supervisor.ts";
import { SupervisorError } from "../errors.ts";
import type { Harness } from "../harness/harness.ts";
import type { Identity } from "../identity/identity.ts";
import type { Principal } from "../identity/principal.ts";
import type { Quotas } from "../limits/quotas.ts";
import type { Usage } from "../limits/tables.ts";
import type { PolicyKeeper } from "../policies/policy-keeper.ts";
import { sessionKey, withoutSecrets } from "../record/record.ts";
import type { Redact } from "../redaction/redactor.ts";
import { isReport, type Reports } from "../reports/reports.ts";
import { type Runs, readReport } from "../runs/runs.ts";
import { answerQuestion, escalationTarget } from "./queries.ts";
import {
  type Asker,
  askerOf,
  type FamilyAnswers,
  familyHandlers,
  type HookPort,
  recordRefusal,
  senderOf,
  subjectOf,
} from "./subject.ts";

/** What the AHP endpoint needs. */
export interface SupervisorParts {
  readonly supervisor: Supervisor;
  readonly identity: Identity;
  readonly approvals: Approvals;
  readonly policies: Pick<PolicyKeeper, "status">;
  readonly runs: Runs;
  readonly reports: Pick<Reports, "note">;
  readonly ledger: Ledger;
  /** Removes secrets from what is recorded; by default those of known formats. */
  readonly redact?: Redact;
  /** Where the work of a session takes place, as far as the harness knows. */
  readonly workspaceOf: (event: AhpEvent) => Workspace;
  /** The sessions of agents whose hooks ask, where they are shown. */
  readonly hooks?: HookPort | undefined;
  /** What another harness of a tenant says to an event of a typed family; nothing where none answers those. */
  readonly advise?: Harness["advise"];
  /** Forwards an event without a decision to other harnesses of a tenant that list it. */
  readonly forward?: Harness["forward"];
  /** Answers the typed families where no other harness does; without it they are refused. */
  readonly families?: FamilyAnswers | undefined;
  /** The quotas that messages count against. */
  readonly quotas?: Pick<Quotas, "turn"> | undefined;
  /** Called with a notification that was refused, and why. */
  readonly onRefused?: (event: AhpEvent, error: unknown) => void;
}

const BLOCKING = new Set(["pre_action", "pre_prompt"]);
const RECORDED = new Set(["session_start", "session_end", "post_action", "post_response"]);

/**
 * The supervisor as an AHP harness. Agents outside of Reins ask and honour the answer, so what is decided here is
 * `asked`. Every family passes identity and policy; nothing is allowed by default.
 */
export function supervisorHandlers(parts: SupervisorParts): Required<Handlers> {
  return {
    ...familyHandlers(parts),
    event: (event, call) => decide(parts, event, call),
    // A notification has no response, so its sender does not learn about faults.
    notification: (event, call) =>
      note(parts, event, call).catch((error: unknown) => parts.onRefused?.(event, error)),
    query: (request, call) => answerQuestion(parts, request, call),
  };
}

async function decide(parts: SupervisorParts, event: AhpEvent, call: EventCall): Promise<Decision> {
  const { supervisor } = parts;
  if (event.event_type === "handshake" || event.event_type === "query")
    throw new SupervisorError(
      "invalid",
      `${event.event_type} is a method of its own, and no event to decide`,
    );
  if (!BLOCKING.has(event.event_type)) {
    await note(parts, event, call);
    return { decision: "allow" };
  }
  const principal = await senderOf(parts, call);
  const asker = await askerOf(parts, event, call, principal);
  if ("refused" in asker) return asDecision(asker.refused);
  const { subject, requestContext } = asker;
  const withheld = await withheldFor(parts, event, principal, asker);
  const decision = asDecision(withheld ?? (await supervisor.decide(event, subject, requestContext)));
  await parts.hooks?.show(event, subject, decision);
  return decision;
}

/**
 * What keeps a prompt from an agent in a terminal: one of the steps that the agent takes by itself for it, each of which is
 * decided before the prompt.
 */
async function withheldFor(
  { supervisor, hooks }: SupervisorParts,
  event: AhpEvent,
  principal: Principal,
  { subject, requestContext }: Exclude<Asker, { readonly refused: Decided }>,
): Promise<Decided | undefined> {
  if (event.event_type !== "pre_prompt" || !hooks) return undefined;
  const refuse = (reason: string) => supervisor.refuse(event, subject, requestContext, reason);
  try {
    for (const step of await hooks.stepsOf(event, principal, requestContext.workspace)) {
      const { tool, tools, title } = step;
      const payload = { tool_name: tool, arguments: step.arguments };
      const workspace = { ...requestContext.workspace, ...(tools !== undefined && { tools }) };
      const action = { ...event, event_type: "pre_action" as const, payload };
      const decided = await supervisor.decide(action, subject, { ...requestContext, workspace });
      const reason = `for this prompt the agent would ${title}: ${decided.reason}`;
      if (decided.verdict === "allowed") hooks.stepAllowed(event, step, decided.entry);
      else if (decided.verdict === "ask" || decided.verdict === "defer") return { ...decided, reason };
      else return await refuse(reason);
    }
    return undefined;
  } catch (error) {
    return refuse(`what the agent would do for this prompt cannot be decided: ${errorMessage(error)}`);
  }
}

async function note(parts: SupervisorParts, event: AhpEvent, call: EventCall): Promise<void> {
  const { identity, runs, reports } = parts;
  const principal = await senderOf(parts, call);
  const { event_type, payload } = event;
  if (isContract(event_type)) {
    await runs.note(principal, event_type, readReport(event_type, payload));
    parts.forward?.(principal.tenant, event);
    return;
  }
  if (!RECORDED.has(event_type) && !isReport(event_type)) return;
  try {
    const subject = subjectOf(identity, principal, event, "asked");
    if (isReport(event_type)) {
      await noteSubagent(parts, event, principal, subject);
      await reports.note(subject, event_type, payload);
      parts.forward?.(subject.tenant, event);
      return;
    }
    await parts.hooks?.workspaceOf(event, principal);
    if (event_type === "session_end") await identity.revokeSession(event.session_id, principal);
    await noteFor(parts, event, subject);
    await parts.hooks?.show(event, subject);
    parts.forward?.(subject.tenant, event);
  } catch (error) {
    await recordRefusal(parts, principal, event, error);
    throw error;
  }
}

/** Records and shows that a sub-agent of an agent in a terminal began or ended. */
async function noteSubagent(
  { hooks, ledger, redact }: SupervisorParts,
  event: AhpEvent,
  principal: Principal,
  subject: Subject,
): Promise<void> {
  const change = hooks?.subagentChange(event);
  if (!hooks || change === undefined || !(await hooks.workspaceOf(event, principal))) return;
  await ledger.record([withoutSecrets(lifecycleDraft(subject, change), redact)], { durable: false });
  await hooks.show(event, subject);
}

/** The entry of a call that no verdict came before: it matches none. */
const NO_VERDICT = "";

async function noteFor(
  { supervisor, approvals, ledger, redact, hooks }: SupervisorParts,
  event: AhpEvent,
  subject: Subject,
): Promise<void> {
  const { event_type } = event;
  if (event_type === "session_start" || event_type === "session_end") {
    const unfinished = event_type === "session_end" ? supervisor.abandon(subject) : [];
    if (event_type === "session_end") await approvals.withdraw(subject, "the session ended");
    const draft = withoutSecrets(lifecycleDraft(subject, event_type, unfinished), redact);
    await ledger.record([draft], { durable: false });
    return;
  }
  const named = event_type === "post_action" ? hooks?.endedCall(event, subject) : undefined;
  const end = { ...endOf(event), ...(named && { entry: named.entry ?? NO_VERDICT }) };
  const call = await supervisor.settle(subject, end, end.usage);
  if (event_type === "post_response") supervisor.turnEnded(end.usage ?? {});
  if (event_type === "post_action")
    await ledger.record([withoutSecrets(resultDraft(subject, end, call), redact)], { durable: false });
}

/** How something ended, as an agent reports it. */
interface ReportedEnd extends CallEnd {
  readonly outcome: "completed" | "failed" | "unknown";
  readonly usage: Partial<Usage>;
}

/** What came before each report. */
const BEFORE: Readonly<Record<string, string>> = { post_action: "pre_action", post_response: "pre_prompt" };

/** The end that a `post_action` or `post_response` reports. Agents write them in several ways; what is not said is unknown. */
function endOf({ event_type, payload, metadata }: AhpEvent): ReportedEnd {
  const reported = membersOf(payload);
  const result = membersOf(reported.result);
  const tool = reported.tool_name ?? reported.tool;
  const entry = metadata?.entry;
  return {
    event_type: BEFORE[event_type] ?? event_type,
    ...(typeof tool === "string" && tool !== "" && { tool }),
    ...(typeof entry === "string" && { entry }),
    outcome: outcomeOf(result.success ?? result.status ?? reported.success ?? reported.status),
    usage: usageIn({ ...reported, ...result }),
  };
}

function outcomeOf(said: unknown): ReportedEnd["outcome"] {
  if (said === true || said === "success" || said === "ok" || said === "completed") return "completed";
  if (said === false || (typeof said === "string" && said !== "")) return "failed";
  return "unknown";
}

function usageIn(reported: Record<string, unknown>): Partial<Usage> {
  const usage = membersOf(reported.usage);
  const tokens =
    amountOf(usage.total_tokens) ??
    sum(usage.input_tokens ?? usage.prompt_tokens, usage.output_tokens ?? usage.completion_tokens);
  return {
    ...amount("time_ms", reported.duration_ms),
    ...amount("tokens", tokens),
    ...amount("cost", usage.cost ?? reported.cost),
  };
}

function amount(name: keyof Usage, value: unknown): Partial<Usage> {
  const used = amountOf(value);
  return used === undefined ? {} : { [name]: used };
}

function sum(left: unknown, right: unknown): number | undefined {
  const [one, other] = [amountOf(left), amountOf(right)];
  return one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** A verdict in the words of AHP. What only Reins knows goes along as metadata. */
function asDecision(decided: Decided): Decision {
  const { reason, enforcement, entry, rule } = decided;
  const metadata = {
    enforcement,
    ...(entry !== undefined && { entry }),
    ...(rule !== undefined && { rule }),
  };
  switch (decided.verdict) {
    case "allowed":
      return { decision: "allow", metadata: { ...metadata, reason } };
    case "blocked":
      return { decision: "block", reason, metadata };
    case "ask":
      return {
        decision: "escalate",
        reason,
        escalation_target: escalationTarget({ id: decided.approval }),
      };
    case "defer":
      return { decision: "defer", retry_after_ms: decided.retry_after_ms, reason };
    case "modify":
      return {
        decision: "modify",
        modified_payload: decided.modified_arguments,
        metadata: { ...metadata, reason },
      };
  }
}

/** The mark of an action that no verdict came before. */
export const UNGATED = "ungated";

/** The entry for the begin or end of a session, with what was under way when it ended. */
export function lifecycleDraft(
  subject: Subject,
  change: string,
  unfinished: readonly OpenCall[] = [],
): Draft & { readonly payload: Readonly<Record<string, unknown>> } {
  return {
    quality: "session_lifecycle",
    actor: subject.agent,
    target: subject.session,
    entity_id: sessionKey(subject),
    tags: [change],
    payload: {
      change,
      subject: { ...subject },
      ...(unfinished.length > 0 && {
        unfinished: unfinished.map(({ entry, tool }) => ({ verdict: entry, tool, outcome: "unknown" })),
      }),
    },
  };
}

/** The entry for what came of an action; without an allowed call it is marked as ungated. */
export function resultDraft(
  subject: Subject,
  { tool, outcome }: { readonly tool?: string | undefined; readonly outcome: string },
  call: OpenCall | undefined,
): Draft & { readonly payload: Readonly<Record<string, unknown>> } {
  const name = tool ?? call?.tool ?? "unknown";
  return {
    quality: "tool_result",
    actor: subject.agent,
    target: name,
    entity_id: sessionKey(subject),
    tags: [outcome, ...(call ? [] : [UNGATED])],
    payload: {
      tool: name,
      outcome,
      verdict: call?.entry ?? null,
      enforcement: call ? subject.enforcement : "observed",
    },
  };
}
