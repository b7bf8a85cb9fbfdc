import { type JsonObject, membersOf, type Peer } from "@reins/acp";
import type { Draft } from "@reins/ledger";
import type {
  ControlEvent,
  Enforcement,
  Harness,
  NetworkReach,
  Origin,
  Principal,
  Redact,
  RequestContext,
  Subject,
  Workspace,
} from "@reins/supervisor";
import type { AgentEntry } from "../agents/agent-entry.ts";
import type { AgentLaunch } from "../agents/agent-launch.ts";
import type { Clients } from "../control/clients.ts";
import { beyondDescent } from "../control/delegation.ts";
import type { Judge } from "../control/wait-for-verdict.ts";
import type { McpGateway } from "../mcp/gateway.ts";
import type { GovernedSession } from "./governed-session.ts";
import type { SessionFolders } from "./session-folders.ts";

/** A prompt with what belongs before it. */
export interface PreparedTurn {
  readonly prompt: readonly unknown[];
  /** What belongs into the system prompt of every request, for an agent that takes it there. */
  readonly instructions: string | undefined;
  /** What was recorded for it; it belongs to the turn. */
  readonly entries: readonly string[];
  /** Ends the turn. What was not delivered is put before the next prompt. */
  end(outcome: { readonly delivered: boolean; readonly contextTokens: number }): Promise<void>;
}

/** Puts something before a prompt: mail, the constitution, the mandate. */
export interface TurnPreparation {
  compose(
    session: GovernedSession,
    subject: Subject,
    prompt: readonly unknown[],
    more: {
      /** What else came with the prompt. */
      readonly params: JsonObject;
      /** Whether the agent takes instructions into its system prompt. */
      readonly inSystemPrompt: boolean;
    },
  ): Promise<PreparedTurn>;
}

/** What governing one agent stands on. */
export interface GovernorContext {
  readonly harness: Harness;
  readonly judge: Judge;
  readonly entry: AgentEntry;
  readonly launch: Pick<AgentLaunch, "mode" | "configOptions" | "meta" | "strip"> &
    Partial<Pick<AgentLaunch, "env">>;
  /** What holds an action that was not allowed from happening, for what the agent does by itself. */
  readonly enforcement: Enforcement;
  /** The same for tools of which another thing holds. */
  readonly enforcementOf: ((tool: string) => Enforcement | undefined) | undefined;
  /** What the operating system lets the agent reach over the network, where it confines it. */
  readonly network?: NetworkReach | undefined;
  /** Whether it is Reins's own agent, which has its prompts decided, tells of its tasks, and does what a verdict made of a call. */
  readonly isOurs: boolean;
  readonly principal: Principal;
  /** Which folders sessions may work in. */
  readonly folders: SessionFolders;
  readonly agent: Peer;
  /** The clients of a session. */
  readonly clients: (session: GovernedSession) => Clients;
  /** Puts the harness between an agent and its MCP servers. */
  readonly servers: Pick<McpGateway, "wrap"> | undefined;
  readonly preparation: TurnPreparation | undefined;
  /** Takes secrets out of what is kept or shown. */
  readonly redact: Redact;
  /** How long an agent may take to end a turn that was cancelled. */
  readonly cancelGraceMs: number;
  readonly now: () => Date;
  readonly newId: () => string;
  /** Ends the agent, where that can be done. */
  readonly stop?: ((reason: string) => void) | undefined;
  /** Told of what an agent did that it should not have. */
  readonly onFault: (reason: string) => void;
}

/** The agent that a session acts as: one of the roster, or the one behind it. */
export function agentOf({ id }: Pick<AgentEntry, "id">, { record }: Pick<GovernedSession, "record">): string {
  return record.acts_as ?? id;
}

/** On whose behalf, and through whom, a session's agent acts. Looked up for each thing it does, so revoking counts at once. */
export function subjectIn(
  {
    harness,
    principal,
    entry,
    network,
  }: Pick<GovernorContext, "harness" | "principal" | "entry" | "network">,
  session: GovernedSession,
  enforcement: Enforcement,
  origin?: Origin,
): Subject {
  const { id, descent, mode, record } = session;
  const subject = harness.identity.subjectFor({
    principal,
    agent: agentOf(entry, session),
    hosted: true,
    session: id,
    sessionKey: record.key,
    mode,
    enforcement,
    // What Reins performs itself happens outside of what confines the agent.
    ...(enforcement !== "performed" && { network }),
    ...(origin === "client" && { origin }),
    roster: harness.policies.roster,
    ...(descent && { childToken: descent.token, depth: descent.depth }),
  });
  return descent ? { ...subject, session: id, session_key: record.key } : subject;
}

/** Where and when something happens in a session, and how far whoever began it lets it go. */
export function requestContextIn(session: GovernedSession, workspace: Workspace): RequestContext {
  const bounds = (event: ControlEvent, tool: string) => beyondDescent(session, event, tool);
  return { workspace, turn: session.turn?.id, ...(session.descent && { bounds }) };
}

/**
 * Records entries of a session, and notes them for its turn. Nobody waits for them; what is recorded later comes after
 * them, and a turn ends when they are written.
 */
export function recordIn(
  context: Pick<GovernorContext, "harness" | "onFault" | "principal" | "entry" | "now">,
  session: GovernedSession,
  drafts: readonly Draft[],
): void {
  const { harness, onFault } = context;
  const { turn } = session;
  for (const { quality, payload } of drafts)
    if (quality === "tool_result") {
      const { tool, outcome, ...more } = membersOf(payload);
      const result = { status: outcome, success: outcome === "completed" };
      forwardIn(context, session, "post_action", { tool_name: tool, result, ...more });
    }
  const recording = harness.record(drafts, { durable: false }).then(
    ({ entries }) => void turn?.entries.push(...entries.map(({ cid }) => cid)),
    (error: unknown) => onFault(`an entry could not be written: ${String(error)}`),
  );
  turn?.awaits(recording);
}

/** Forwards what happened in a session to other harnesses that list such events, without secrets. */
export function forwardIn(
  { harness, principal, entry, now }: Pick<GovernorContext, "harness" | "principal" | "entry" | "now">,
  session: GovernedSession,
  event_type: string,
  payload: unknown,
): void {
  harness.forward(principal.tenant, {
    event_type,
    session_id: session.id,
    agent_id: agentOf(entry, session),
    depth: session.depth,
    timestamp: now().toISOString(),
    payload: harness.redact(payload),
  });
}
