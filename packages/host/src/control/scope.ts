import { type JsonObject, membersOf } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import type { Draft } from "@reins/ledger";
import type {
  ControlEvent,
  Enforcement,
  Harness,
  NetworkReach,
  Origin,
  Principal,
  RequestContext,
  Subject,
  Workspace,
} from "@reins/supervisor";
import { type EventType, sessionKey } from "@reins/supervisor";
import type { AgentProfile } from "./agent-profile.ts";
import type { Clients } from "./ask-clients.ts";

/** How much a session may use that another one started. */
export interface Allowance {
  /** Calls of tools. */
  readonly calls: number;
  /** Tokens, as far as its agent reports them. */
  readonly tokens: number;
}

/** The limits of a session that another one started. In memory only; ends with the turn that started it. */
export interface Descent {
  /** The session that started it. */
  readonly parent: string;
  /** Identifies it to identity, which has its scopes and its chain. */
  readonly token: string;
  /** How far below the user's own agent it is. */
  readonly depth: number;
  /** The folders of the session that started it: it works in no others. */
  readonly roots: readonly string[];
  /** The only tools it may use; all that the policy allows when absent. */
  readonly tools?: readonly string[] | undefined;
  readonly allowance: Allowance;
}

/** The agent whose actions are enforced, and what enforcing them needs. */
export interface ControlContext {
  readonly harness: Harness;
  readonly principal: Principal;
  readonly entry: AgentEntry;
  readonly profile: AgentProfile;
  /** The enforcement level of what the agent does by itself. */
  readonly enforcement: Enforcement;
  /** The same for single tools that differ. */
  readonly enforcementOf: ((tool: string) => Enforcement | undefined) | undefined;
  /** The network that the sandbox leaves to the agent, where it is confined. */
  readonly network?: NetworkReach | undefined;
  readonly now: () => Date;
  readonly newId: () => string;
  /** Receives faults of the agent and of records that could not be written. */
  readonly onFault: (reason: string) => void;
}

/** Where a control point arises: a session, or the connection to an agent outside of any. */
export interface ControlScope {
  readonly id: string;
  readonly record: { readonly key?: string | undefined; readonly acts_as?: string | undefined };
  readonly mode?: string | undefined;
  readonly depth: number;
  readonly descent?: Descent | undefined;
  /** Where the agent's own tools work. */
  readonly workspace: Workspace;
  /** The same place for what Reins performs or forwards. */
  readonly served: Workspace;
  readonly toolCalls: { readonly begun: number };
  readonly turn?:
    | {
        readonly id: string;
        readonly entries: string[];
        readonly tokens: number;
        awaits(writing: Promise<unknown>): void;
      }
    | undefined;
}

/** One whose clients can be asked. */
export interface AskableScope extends ControlScope {
  readonly clients: Clients;
}

/** The agent as which a session acts: one of the roster, or the one behind it. */
export function agentOf({ id }: Pick<AgentEntry, "id">, { record }: Pick<ControlScope, "record">): string {
  return record.acts_as ?? id;
}

/** What the subject of an action is looked up with. */
export interface SubjectContext {
  readonly harness: Pick<Harness, "identity" | "policies">;
  readonly principal: Principal;
  readonly entry: Pick<AgentEntry, "id">;
  readonly network?: NetworkReach | undefined;
}

/** Who acts in a session. Looked up for each action, so that a revoked token counts at once. */
export function subjectIn(
  { harness, principal, entry, network }: SubjectContext,
  scope: ControlScope,
  enforcement: Enforcement,
  origin?: Origin,
): Subject {
  const { id, descent, mode, record } = scope;
  const subject = harness.identity.subjectFor({
    principal,
    agent: agentOf(entry, scope),
    hosted: true,
    session: id,
    ...(record.key !== undefined && { sessionKey: record.key }),
    ...(mode !== undefined && { mode }),
    enforcement,
    // Reins acts outside of the sandbox that confines the agent.
    ...(enforcement !== "performed" && { network }),
    ...(origin === "client" && { origin }),
    roster: harness.policies.roster,
    ...(descent && { childToken: descent.token, depth: descent.depth }),
  });
  if (!descent) return subject;
  return { ...subject, session: id, ...(record.key !== undefined && { session_key: record.key }) };
}

/** Where and when something happens in a session, with the limits of its delegation. */
export function requestContextIn(scope: ControlScope, workspace: Workspace): RequestContext {
  const bounds = (event: ControlEvent, tool: string) => beyondDescent(scope, event, tool);
  return { workspace, turn: scope.turn?.id, ...(scope.descent && { bounds }) };
}

/** Why an event exceeds what a session was given by the one that started it. */
function beyondDescent(
  { descent, toolCalls, turn }: ControlScope,
  { event_type, payload }: ControlEvent,
  tool: string,
): string | undefined {
  if (!descent || (event_type !== "pre_action" && event_type !== "pre_prompt")) return undefined;
  const { tools, allowance } = descent;
  if (event_type === "pre_action" && tools && !tools.includes(tool))
    return `the task was given ${tools.join(", ") || "no tools"}, and not ${tool}`;
  if (toolCalls.begun > allowance.calls) return `the task's ${allowance.calls} calls are used up`;
  const { tokens_used } = membersOf(payload);
  const tokens = Math.max(typeof tokens_used === "number" ? tokens_used : 0, turn?.tokens ?? 0);
  return tokens > allowance.tokens ? `the task's ${allowance.tokens} tokens are used up` : undefined;
}

type RecordContext = Pick<ControlContext, "harness" | "onFault" | "principal" | "entry" | "now">;

/** Records entries of a session and adds them to its turn, which ends when they are written. */
export function recordIn(context: RecordContext, scope: ControlScope, drafts: readonly Draft[]): void {
  const { harness, onFault } = context;
  const { turn } = scope;
  for (const { quality, payload } of drafts)
    if (quality === "tool_result") {
      const { tool, outcome, ...more } = membersOf(payload);
      const result = { status: outcome, success: outcome === "completed" };
      forwardIn(context, scope, "post_action", { tool_name: tool, result, ...more });
    }
  const recording = harness.record(drafts, { durable: false }).then(
    ({ entries }) => void turn?.entries.push(...entries.map(({ cid }) => cid)),
    (error: unknown) => onFault(`an entry could not be written: ${String(error)}`),
  );
  turn?.awaits(recording);
}

/** Forwards what happened in a session to external harnesses that list such events, redacted. */
export function forwardIn(
  { harness, principal, entry, now }: Pick<RecordContext, "harness" | "principal" | "entry" | "now">,
  scope: ControlScope,
  event_type: EventType,
  payload: unknown,
): void {
  harness.forward(principal.tenant, {
    event_type,
    session_id: scope.id,
    agent_id: agentOf(entry, scope),
    depth: scope.depth,
    timestamp: now().toISOString(),
    payload: harness.redact(payload),
  });
}

/** The entry for the start of a tool call, with what the agent says about it. */
export function toolCallDraft(
  subject: Subject,
  call: { readonly id: string; readonly told: JsonObject },
  { tool, verdict }: { readonly tool: string; readonly verdict: string | undefined },
): Draft {
  const { title, kind, rawInput } = call.told;
  return {
    quality: "tool_call",
    actor: subject.agent,
    target: tool,
    entity_id: sessionKey(subject),
    tags: [`call:${call.id}`],
    payload: {
      tool,
      call: call.id,
      verdict: verdict ?? null,
      claims: { title: title ?? null, kind: kind ?? null },
      arguments: rawInput ?? null,
    },
  };
}
