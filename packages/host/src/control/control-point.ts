import type { JsonObject } from "@reins/acp";
import type { EventType, Origin } from "@reins/supervisor";

/** The payload of AHP's `pre_action` and `post_action`, which the protocol leaves open. */
export interface ActionPayload {
  readonly tool_name: string;
  readonly arguments?: unknown;
  /** What the agent says about its call: claims. */
  readonly kind?: unknown;
  readonly title?: unknown;
}

/** A prompt: of a client for a turn, or of the native agent for one request to its model. */
interface Prompt {
  readonly kind: "prompt";
  readonly payload: unknown;
  readonly origin: Origin;
}

/** The start of work outside of every turn, charged like a prompt. */
interface UnpromptedWork {
  readonly kind: "unprompted_work";
  /** The message that showed it. */
  readonly message: string;
}

/** A tool call for which an agent asks permission. */
interface ToolCallRequest {
  readonly kind: "tool_call";
  readonly payload: ActionPayload;
  readonly call: ShownCall;
  /** Whether the agent offers an answer that allows this call alone. */
  readonly takesOnce: boolean;
}

/** A file that Reins reads or writes for an agent, or reads because a prompt names it. */
interface FileAccess {
  readonly kind: "file_access";
  readonly method: "fs/read_text_file" | "fs/write_text_file";
  readonly path: unknown;
  readonly content?: unknown;
  /** Why the path is out of reach; blocks it whatever the rules say. */
  readonly outOfReach?: string | undefined;
}

/** A command that a client runs for an agent. */
export interface Terminal {
  readonly kind: "terminal";
  readonly command: JsonObject;
}

/** A question of an agent to people, or a custom method that a client answers. */
export interface ClientRequest {
  readonly kind: "client_request";
  readonly method: string;
  readonly arguments: unknown;
}

/** A message between an agent and an MCP server. */
interface McpMessage {
  readonly kind: "mcp_call";
  readonly tool: string;
  readonly arguments: unknown;
  readonly call: ShownCall;
}

/** The start of an MCP server. */
interface McpStart {
  readonly kind: "mcp_start";
  readonly arguments: unknown;
}

/** What a client wants to change in an agent: mode, option, model, credentials, a custom method. */
interface Setting {
  readonly kind: "setting";
  readonly method: string;
  readonly arguments: unknown;
  /** Sent as a notification: no person is asked, and what would need one is refused. */
  readonly isNotification?: boolean;
}

/** A command that the agent itself understands in a prompt. */
interface AgentCommand {
  readonly kind: "agent_command";
  readonly tool: string;
  readonly arguments: unknown;
}

/** The start of a session: new, load, resume or fork. */
export interface SessionStart {
  readonly kind: "session_start";
  readonly method: string;
  readonly arguments: unknown;
  readonly origin: Origin;
  /** Why its folder is out of reach; blocks it whatever the rules say. */
  readonly outOfReach?: string | undefined;
}

/** What an agent did without a verdict before: seen in its updates, or work that no client prompted. */
interface AfterTheFact {
  readonly kind: "after_the_fact";
  readonly payload: ActionPayload;
  /** Whose tool table names the tool: the agent's, or that of ACP's own methods. */
  readonly tools: "agent" | "acp";
  /** The call and how it ended; absent for work outside of every turn, which is recorded by its verdict alone. */
  readonly seen?: { readonly call: ShownCall; readonly outcome: string };
}

/** A call as far as records show it. */
interface ShownCall {
  readonly id: string;
  readonly told: JsonObject;
}

/** A place where an effect can arrive. All of them pass through `enforce`. */
export type ControlPoint =
  | Prompt
  | UnpromptedWork
  | ToolCallRequest
  | FileAccess
  | Terminal
  | ClientRequest
  | McpMessage
  | McpStart
  | Setting
  | AgentCommand
  | SessionStart
  | AfterTheFact;

/** How points of one kind are enforced. */
interface Traits {
  readonly event_type: Extract<EventType, "pre_prompt" | "pre_action" | "post_action" | "session_start">;
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
  tool_call: { ...ACTION, level: "agent", tools: "agent", modified: "by_profile" },
  file_access: ACTION,
  terminal: ACTION,
  client_request: ACTION,
  mcp_call: { ...ACTION, modified: "applied" },
  mcp_start: { ...ACTION, origin: "client" },
  setting: { ...ACTION, origin: "client", inTurn: false },
  agent_command: { ...ACTION, origin: "client" },
  session_start: { ...ACTION, event_type: "session_start", inTurn: false },
  after_the_fact: OBSERVED,
};

/** How a point is enforced: the row of its kind, and what the point itself says. */
export function traitsOf(point: ControlPoint): Traits {
  const traits = TRAITS[point.kind];
  if ("origin" in point) return { ...traits, origin: point.origin };
  return point.kind === "after_the_fact" ? { ...traits, tools: point.tools } : traits;
}

/**
 * Who decides a point: rules, and people where a rule asks; rules at once; or rules alone, so that what would need a person
 * is refused without a record.
 */
export function decidersOf(point: ControlPoint): "rules_and_people" | "rules" | "rules_alone" {
  if (point.kind === "after_the_fact" || point.kind === "unprompted_work") return "rules";
  if (point.kind === "session_start" && point.outOfReach !== undefined) return "rules";
  return point.kind === "setting" && point.isNotification === true ? "rules_alone" : "rules_and_people";
}

/** The payload of a point's event. */
export function payloadOf(point: ControlPoint): unknown {
  switch (point.kind) {
    case "prompt":
      return point.payload;
    case "unprompted_work":
      return { prompt: `[${point.message} outside of every turn]`, message_count: 0 };
    case "tool_call":
    case "after_the_fact":
      return point.payload;
    default:
      return { tool_name: toolOf(point), arguments: argumentsOf(point) } satisfies ActionPayload;
  }
}

/** The name of what a point does, as rules and records have it. */
export function toolOf(point: ControlPoint): string {
  switch (point.kind) {
    case "prompt":
    case "unprompted_work":
      return "session/prompt";
    case "tool_call":
    case "after_the_fact":
      return point.payload.tool_name;
    case "terminal":
      return "terminal/create";
    case "mcp_start":
      return "mcp/start";
    case "mcp_call":
    case "agent_command":
      return point.tool;
    default:
      return point.method;
  }
}

/** The arguments that are decided, and shown to people where the approval has no tool call of its own. */
export function argumentsOf(point: ControlPoint): unknown {
  switch (point.kind) {
    case "prompt":
      return point.payload;
    case "unprompted_work":
      return payloadOf(point);
    case "tool_call":
    case "after_the_fact":
      return point.payload.arguments;
    case "terminal":
      return point.command;
    case "file_access":
      return { path: point.path, ...(point.content !== undefined && { content: point.content }) };
    default:
      return point.arguments;
  }
}
