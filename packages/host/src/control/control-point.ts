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

/** A call as far as records show it. */
interface ShownCall {
  readonly id: string;
  readonly told: JsonObject;
}

/** An action by the name under which rules know it: a method of ACP, or a tool. */
interface Action<Kind extends string> {
  readonly kind: Kind;
  readonly tool: string;
  readonly arguments: unknown;
}

/** Why an action is out of reach; blocks it whatever the rules say. */
interface Reach {
  readonly outOfReach?: string | undefined;
}

/** A place where an effect can arrive. All of them pass through `enforce`. */
export type ControlPoint =
  /** A prompt: of a client for a turn, or of the native agent for one request to its model. */
  | { readonly kind: "prompt"; readonly payload: unknown; readonly origin: Origin }
  /** The start of work outside of every turn, charged like a prompt; `message` is what showed it. */
  | { readonly kind: "unprompted_work"; readonly message: string }
  /** A tool call for which an agent asks permission; `takesOnce` if it offers to allow this call alone. */
  | {
      readonly kind: "tool_call";
      readonly payload: ActionPayload;
      readonly call: ShownCall;
      readonly takesOnce: boolean;
    }
  /** A file that Reins reads or writes for an agent, or reads because a prompt names it. */
  | (Action<"file_access"> & Reach)
  /** A command that a client runs for an agent. */
  | Action<"terminal">
  /** A question of an agent to people, or a custom method that a client answers. */
  | Action<"client_request">
  /** A message between an agent and an MCP server. */
  | (Action<"mcp_call"> & { readonly call: ShownCall })
  /** The start of an MCP server. */
  | Action<"mcp_start">
  /** What a client changes in an agent. No person is asked about a notification. */
  | (Action<"setting"> & { readonly isNotification?: boolean })
  /** A command that the agent itself understands in a prompt. */
  | Action<"agent_command">
  /** The start of a session: new, load, resume or fork. */
  | (Action<"session_start"> & Reach & { readonly origin: Origin })
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

/** The start of a session in a folder that is out of reach. */
export type StartOutOfReach = Extract<ControlPoint, { readonly kind: "session_start" }> & {
  readonly outOfReach: string;
};

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
  if (point.kind === "unprompted_work")
    return { prompt: `[${point.message} outside of every turn]`, message_count: 0 };
  if ("payload" in point) return point.payload;
  return { tool_name: point.tool, arguments: point.arguments } satisfies ActionPayload;
}

/** The name of what a point does, as rules and records have it. */
export function toolOf(point: ControlPoint): string {
  if ("tool" in point) return point.tool;
  return point.kind === "prompt" || point.kind === "unprompted_work"
    ? "session/prompt"
    : point.payload.tool_name;
}

/** The arguments that are decided, and shown to people where the approval has no tool call of its own. */
export function argumentsOf(point: ControlPoint): unknown {
  if ("tool" in point) return point.arguments;
  return point.kind === "prompt" || point.kind === "unprompted_work"
    ? payloadOf(point)
    : point.payload.arguments;
}
