import { isObject, type JsonObject } from "@reins/acp";
import { errorMessage } from "@reins/kit";
import type {
  ControlEvent,
  DecisionInput,
  Enforcement,
  EventType,
  Origin,
  RequestContext,
  Subject,
} from "@reins/supervisor";
import type { ModelCallPoint, PromptPoint } from "./model-call.ts";
import { beyondDeclared, beyondScope, commonWrites, unseenChange, unseenWrite } from "./mutation-scope.ts";
import { beyondPrice, type Descent, delegationLimits, type SubjectScope } from "./scope.ts";

/** The payload of AHP's `pre_action` and `post_action`, which the protocol leaves open. */
export interface ActionPayload {
  readonly tool_name: string;
  readonly arguments?: unknown;
  /** What the agent says about its call: claims. */
  readonly kind?: unknown;
  readonly title?: unknown;
}

/** A call as far as records show it. */
interface ShownCall {
  readonly id: string;
  readonly reported: JsonObject;
}

/** An action by the name under which rules know it: a method of ACP, or a tool. */
interface Action<Kind extends string> {
  readonly kind: Kind;
  readonly tool: string;
  readonly arguments: unknown;
}

type FileAccess = Action<"file_access"> & Pick<RequestContext, "files">;

/** Why an action is out of reach; blocks it whatever the rules say. */
interface Reach {
  readonly outOfReach?: string | undefined;
}

/** Where an action of a graph comes from, for rules and other harnesses. */
interface GraphOrigin {
  readonly run_id: string;
  readonly action_id: string;
  readonly title: string;
  readonly reason?: string | undefined;
  readonly operation?: string | undefined;
  readonly depends_on: readonly string[];
  readonly executor: string;
}

/** What the decision about an action of a graph takes beside its payload. */
type GraphAction = Pick<RequestContext, "commits"> &
  Pick<Descent, "mayWrite"> & { readonly mustAsk?: string | undefined };

/** A place where an effect can arrive. All of them pass through `enforce`. */
export type ControlPoint =
  | PromptPoint
  /** The start of work outside of every turn, charged like a prompt; `message` is what showed it. */
  | { readonly kind: "unprompted_work"; readonly message: string }
  /** A tool call for which an agent asks permission; `takesOnce` if it offers to allow this call alone. */
  | {
      readonly kind: "tool_call";
      readonly payload: ActionPayload;
      readonly call: ShownCall;
      readonly takesOnce: boolean;
    }
  /**
   * A file that Reins reads or writes for an agent, or reads because a prompt names it. `isUnattended` if it is read for the
   * context of a model, by the agent's own tool: no person is asked. Of a caller of the API if its origin is the client.
   */
  | (FileAccess & Reach & { readonly isUnattended?: boolean; readonly origin?: Origin })
  /** A request of the native agent for advice before its model is asked. No person is asked. */
  | { readonly kind: "advice"; readonly event_type: AdviceEventType; readonly payload: unknown }
  /** A command that a client runs for an agent, or that Reins runs for a caller of the API. */
  | (Action<"terminal"> & Reach & { readonly origin?: Origin })
  /** A question of an agent to people, or a custom method that a client answers. */
  | Action<"client_request">
  /** A message between an agent and an MCP server. */
  | (Action<"mcp_call"> & { readonly call: ShownCall })
  /** The start of an MCP server. */
  | Action<"mcp_start">
  /** A tool of an MCP server whose definition is not the one that was pinned. A person is asked, whatever rules allow. */
  | Action<"mcp_definition">
  /** An action of a graph that Reins performs; `tools` is whose tool table names it. */
  | (GraphAction & {
      readonly kind: "graph_action";
      readonly payload: ActionPayload & { readonly graph: GraphOrigin };
      readonly tools: "agent" | "acp";
      readonly call: ShownCall;
    })
  /** What a client changes in an agent. No person is asked about a notification. */
  | (Action<"setting"> & { readonly isNotification?: boolean })
  /** A command that the agent itself understands in a prompt. */
  | Action<"agent_command">
  /** The start of a session: new, load, resume or fork. */
  | (Action<"session_start"> & Reach & { readonly origin: Origin })
  | ModelCallPoint
  /**
   * What an agent did without a verdict before. `tools` is whose tool table names it; `seen` is absent for work outside of
   * every turn, which is recorded by its verdict alone.
   */
  | {
      readonly kind: "after_the_fact";
      readonly payload: ActionPayload;
      readonly tools: "agent" | "acp";
      readonly seen?: { readonly call: ShownCall; readonly outcome: string };
    };

/** The events that ask for advice, each decided like an action. */
export type AdviceEventType = Extract<
  EventType,
  "intent_detection" | "context_perception" | "memory_recall" | "planning" | "reasoning"
>;

/** The kind of what an agent reads by itself while it prepares a request: no tool call of its model. */
const UNATTENDED = "perception";

/**
 * Whether a verdict, by the payload of its entry, is about what an agent read by itself while it prepared a request. Only
 * what Reins performs counts, because another agent could claim any kind.
 */
export function isPreparationRecord(payload: unknown): boolean {
  const { enforcement, facts } = isObject(payload) ? payload : {};
  const claims = isObject(facts) ? facts.claims : undefined;
  return enforcement === "performed" && isObject(claims) && claims.kind === UNATTENDED;
}

/** A point that is decided by rules alone, because no person is asked while an agent prepares a request. */
export type UnattendedPoint = Extract<ControlPoint, { readonly kind: "file_access" | "advice" }>;

/** The start of a session in a folder that is out of reach. */
export type StartOutOfReach = Extract<ControlPoint, { readonly kind: "session_start" }> & {
  readonly outOfReach: string;
};

/** How points of one kind are enforced. */
interface Traits {
  readonly event_type:
    | Extract<EventType, "pre_prompt" | "pre_action" | "post_action" | "session_start">
    | AdviceEventType;
  /** What prevents a refused action: the agent's own gate or sandbox, Reins itself, or nothing. */
  readonly level: "agent" | "performed" | "observed";
  /** Whose tool table applies. */
  readonly tools: "agent" | "acp";
  readonly origin: Origin;
  /** Whether the verdict belongs to the entries of the turn. */
  readonly inTurn: boolean;
  /** What becomes of a verdict that modifies: applied, refused, or as the agent's profile says. */
  readonly modified: "applied" | "refused" | "by_profile";
}

const ACTION: Traits = {
  event_type: "pre_action",
  level: "performed",
  tools: "acp",
  origin: "agent",
  inTurn: true,
  modified: "refused",
};
const OBSERVED: Traits = { ...ACTION, event_type: "post_action", level: "observed" };

/** One row per kind of control point. */
const TRAITS: Readonly<Record<ControlPoint["kind"], Traits>> = {
  prompt: { ...ACTION, event_type: "pre_prompt", level: "agent", modified: "applied" },
  unprompted_work: { ...OBSERVED, event_type: "pre_prompt" },
  model_call: { ...ACTION, event_type: "pre_prompt" },
  tool_call: { ...ACTION, level: "agent", tools: "agent", modified: "by_profile" },
  file_access: ACTION,
  advice: { ...ACTION, event_type: "context_perception" },
  terminal: ACTION,
  client_request: ACTION,
  mcp_call: { ...ACTION, modified: "applied" },
  graph_action: { ...ACTION, modified: "applied" },
  mcp_start: { ...ACTION, origin: "client" },
  mcp_definition: { ...ACTION, inTurn: false },
  setting: { ...ACTION, origin: "client", inTurn: false },
  agent_command: { ...ACTION, origin: "client" },
  session_start: { ...ACTION, event_type: "session_start", inTurn: false },
  after_the_fact: OBSERVED,
};

/** How a point is enforced: the row of its kind, and what the point itself says. */
export function traitsOf(point: ControlPoint): Traits {
  const traits = TRAITS[point.kind];
  if ("origin" in point && point.origin !== undefined) return { ...traits, origin: point.origin };
  if (point.kind === "advice") return { ...traits, event_type: point.event_type };
  if (point.kind === "file_access" && point.isUnattended === true) return { ...traits, tools: "agent" };
  return point.kind === "after_the_fact" || point.kind === "graph_action"
    ? { ...traits, tools: point.tools }
    : traits;
}

/**
 * Who decides a point: rules, and people where a rule asks; rules at once; or rules alone, so that what would need a person
 * is refused without a record.
 */
export function decidersOf(point: ControlPoint): "rules_and_people" | "rules" | "rules_alone" {
  if (point.kind === "after_the_fact" || point.kind === "unprompted_work") return "rules";
  if (point.kind === "session_start" && point.outOfReach !== undefined) return "rules";
  const isUnattended = isPreparation(point) || (point.kind === "setting" && point.isNotification === true);
  return isUnattended ? "rules_alone" : "rules_and_people";
}

/** Whether a point is about what a model is given with its next request. */
export function isPreparation(point: ControlPoint): boolean {
  return point.kind === "advice" || (point.kind === "file_access" && point.isUnattended === true);
}

/** The payload of a point's event. */
export function payloadOf(point: ControlPoint): unknown {
  if (point.kind === "unprompted_work")
    return { prompt: `[${point.message} outside of every turn]`, message_count: 0 };
  if ("payload" in point) return point.payload;
  const kind = "isUnattended" in point && point.isUnattended ? { kind: UNATTENDED } : {};
  return { tool_name: point.tool, arguments: point.arguments, ...kind } satisfies ActionPayload;
}

/** The name of what a point does, as rules and records have it. */
export function toolOf(point: ControlPoint): string {
  if ("tool" in point) return point.tool;
  if (point.kind === "advice") return point.event_type;
  return point.kind === "prompt" || point.kind === "unprompted_work"
    ? "session/prompt"
    : point.payload.tool_name;
}

/** The arguments that are decided, and shown to people where the approval has no tool call of its own. */
export function argumentsOf(point: ControlPoint): unknown {
  if ("tool" in point) return point.arguments;
  return point.kind === "prompt" || point.kind === "unprompted_work" || point.kind === "advice"
    ? payloadOf(point)
    : point.payload.arguments;
}

/** A control event as the supervisor decides it. */
export interface ControlRequest {
  readonly event: ControlEvent;
  readonly subject: Subject;
  readonly requestContext: RequestContext;
  /** Takes an action that was not allowed off the allowance's count. */
  readonly uncount?: () => void;
  /** Why the subject may do nothing any more: it is the last one that was known then. */
  readonly forbidden?: string | undefined;
}

/** A control point as the supervisor decides it; the rights of its subject are confirmed right before it is allowed. */
export function requestFor(scope: SubjectScope, point: ControlPoint, mode = scope.mode): ControlRequest {
  const { context } = scope;
  const traits = traitsOf(point);
  const { event_type, level, tools, origin } = traits;
  const beyond = "outOfReach" in point ? point.outOfReach : undefined;
  const limited = scope.descent && delegationLimits(scope, scope.descent, traits);
  const workspace = tools === "agent" ? scope.workspace : scope.served;
  const isActing = origin === "agent" && ACTIONS.has(event_type);
  const limit = isActing ? scope.mutationScope : undefined;
  const above = isActing ? scope.descent?.mayWrite : undefined;
  const named = "mayWrite" in point ? point.mayWrite : undefined;
  const mayWrite = named && above ? commonWrites(named, above) : (named ?? above);
  const bounds = (event: ControlEvent, action: DecisionInput["action"]) =>
    limited?.bounds(event, action.tool) ??
    (scope.descent && beyondPrice(scope.descent, point)) ??
    (limit && beyondScope(limit, action, workspace.realRoots?.[0] ?? workspace.cwd)) ??
    (mayWrite && beyondDeclared(mayWrite, action));
  const own = context.enforcementOf?.(toolOf(point)) ?? context.enforcement ?? "performed";
  const enforcement = level === "agent" ? own : level;
  const insists = insistedOn(point);
  const repeats = event_type === "pre_action" && origin === "agent" ? scope.descent?.repeats : undefined;
  const mustAsk = (action: DecisionInput["action"]) =>
    insists ??
    repeats?.(action) ??
    (limit && unseenChange(limit, action, enforcement === "confined" ? workspace.roots : undefined)) ??
    (mayWrite && unseenWrite(action));
  const { subject: acting, forbidden } = lookUpSubject(scope, enforcement, origin, mode);
  const subject = point.kind === "graph_action" ? inGraph(acting, point.payload.graph) : acting;
  return {
    event: {
      event_type,
      session_id: scope.id,
      agent_id: agentOf(scope),
      depth: scope.depth,
      payload: payloadOf(point),
    },
    subject,
    ...(forbidden !== undefined && { forbidden }),
    requestContext: {
      workspace,
      turn: scope.turn?.id,
      ...(scope.turn?.promptedBy !== subject.user && { askedBy: scope.turn?.promptedBy }),
      confirm: () => confirmRights(scope, enforcement, origin),
      ...((limited || limit || mayWrite) && { bounds }),
      ...(beyond !== undefined && { bounds: () => beyond }),
      ...((limit || mayWrite || insists !== undefined || repeats) && { mustAsk }),
      ...(point.kind === "graph_action" && { commits: point.commits }),
      ...("reserves" in point && { reserves: point.reserves }),
      ...("files" in point && { files: point.files }),
    },
    ...(limited && { uncount: limited.uncount }),
  };
}

/** Why a person is asked about a point whatever the rules allow, if so. */
function insistedOn(point: ControlPoint): string | undefined {
  if (point.kind === "graph_action") return point.mustAsk;
  return point.kind === "mcp_definition" ? "the definition of the tool changed" : undefined;
}

/** A subject that acts for an action of a graph. */
function inGraph(subject: Subject, { run_id, action_id, executor, operation }: GraphOrigin): Subject {
  const graph = { run: run_id, action: action_id, executor };
  return { ...subject, graph: { ...graph, ...(operation !== undefined && { operation }) } };
}

/** The agent as which a session acts: one of the roster, or the one behind it. */
export function agentOf({ context, record }: Pick<SubjectScope, "context" | "record">): string {
  return record.acts_as ?? context.entry.id;
}

/** Who acts in a session. Looked up for each action, so that a revoked token counts at once. */
export function subjectIn(
  scope: SubjectScope,
  enforcement: Enforcement,
  origin?: Origin,
  mode = scope.mode,
): Subject {
  const { harness, principal, network } = scope.context;
  const { id, descent, record } = scope;
  const subject = harness.identity.subjectFor({
    principal,
    agent: agentOf(scope),
    hosted: true,
    session: id,
    ...(record.key !== undefined && { sessionKey: record.key }),
    ...(mode !== undefined && { mode }),
    enforcement,
    // Reins acts outside of the sandbox that confines the agent.
    ...(enforcement !== "performed" && { network }),
    ...(origin === "client" && { origin }),
    ...(descent && { childToken: descent.token, depth: descent.depth }),
  });
  const own = descent
    ? { ...subject, session: id, ...(record.key !== undefined && { session_key: record.key }) }
    : subject;
  if (mode === scope.mode) lastKnown.set(scope, own);
  return own;
}

/** The subject that was looked up last in each scope. */
const lastKnown = new WeakMap<SubjectScope, Subject>();

/**
 * Who acts or acted in a session, for records: the last known subject where its rights are gone, so that what it did is
 * on the record all the same. Never throws.
 */
export function recordedSubject(scope: SubjectScope, enforcement: Enforcement): Subject {
  return lookUpSubject(scope, enforcement).subject;
}

/** The subject of a session as it is now, or as it was last, with why its principal has no rights any more. */
export function lookUpSubject(
  scope: SubjectScope,
  enforcement: Enforcement,
  origin?: Origin,
  mode = scope.mode,
): Pick<ControlRequest, "subject" | "forbidden"> {
  try {
    return { subject: subjectIn(scope, enforcement, origin, mode) };
  } catch (error) {
    const { network: _, origin: __, ...known } = lastKnown.get(scope) ?? unknownSubject(scope, enforcement);
    const subject = { ...known, enforcement, ...(origin === "client" && { origin }) };
    return { subject, forbidden: errorMessage(error) };
  }
}

/** The subject of a session whose principal had no rights from the beginning. */
function unknownSubject(scope: SubjectScope, enforcement: Enforcement): Subject {
  const { context, id: session, mode, record } = scope;
  const { harness, principal } = context;
  const claimed = { principal, agent: agentOf(scope), session, mode, enforcement };
  const refused = harness.identity.refusedSubject(claimed);
  return record.key === undefined ? refused : { ...refused, session_key: record.key };
}

/** Rejects with the reason if the principal of a session, or its delegation, has lost its rights, in any process. */
export async function confirmRights(
  scope: SubjectScope,
  enforcement: Enforcement = "performed",
  origin?: Origin,
): Promise<void> {
  const { harness, principal } = scope.context;
  await harness.identity.current(principal);
  subjectIn(scope, enforcement, origin);
}

/** The events of actions, which a mutation scope limits. */
const ACTIONS: ReadonlySet<EventType> = new Set(["pre_action", "post_action"]);
