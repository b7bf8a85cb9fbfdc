import type { EntryQuality } from "@reins/ledger";
import type { ControlPoint } from "./control-point.ts";

/** A way by which an effect could arrive. */
export type Door =
  /**
   * Enforced as a control point; an `agent_event` is decided by the supervisor as what the event says. `tool` is the name
   * under which rules know what callers of the API do.
   */
  | { readonly point: ControlPoint["kind"] | "tool_offer" | "agent_event"; readonly tool?: string }
  /** Open to those alone who may do it by their role or because it is theirs, and leaves an entry of this quality. */
  | { readonly record: EntryQuality }
  /** Needs no verdict of its own, for this reason. */
  | { readonly none: string }
  /** Refused without a verdict, for this reason. */
  | { readonly closed: string };

export type Doors = Readonly<Record<string, Door>>;

const SESSION_START: Door = { point: "session_start" };
const SETTING: Door = { point: "setting" };
const MCP_CALL: Door = { point: "mcp_call" };
const FILE_ACCESS: Door = { point: "file_access" };
const AGENT_EVENT: Door = { point: "agent_event" };
const OF_A_TERMINAL: Door = { none: "belongs to a terminal whose command was decided" };
const OWN_RECORDS: Door = { none: "is answered by Reins from the principal's own sessions" };
const ENDS: Door = { none: "ends something of the principal's own, on the record" };
const BOOKKEEPING: Door = { none: "is bookkeeping of the protocol" };
const REPORT: Door = { none: "reports what was decided before, or the agent's own state" };

const LENT: Door = { none: "asks the session's own client what it lends, and has no effect there" };
const RETIRED: Door = { closed: "is retired: approvals are requested by session/request_permission" };

/** Stands for the methods that clients and agents add to ACP, which begin with an underscore. */
export const CUSTOM = "_*";

/** What clients send: ACP's agent methods, and the extensions that Reins answers. */
export const CLIENT_DOORS = {
  initialize: { none: "negotiates capabilities" },
  authenticate: SETTING,
  logout: SETTING,
  "auth/status": SETTING,
  "providers/disable": SETTING,
  "providers/list": SETTING,
  "providers/set": SETTING,
  "session/new": SESSION_START,
  "session/load": SESSION_START,
  "session/resume": SESSION_START,
  "session/fork": SESSION_START,
  "session/prompt": { point: "prompt" },
  "session/cancel": ENDS,
  "session/close": ENDS,
  "session/delete": ENDS,
  "session/list": OWN_RECORDS,
  "session/set_mode": SETTING,
  "session/set_model": SETTING,
  "session/set_config_option": SETTING,
  "session/set_title": SETTING,
  "session/archive": SETTING,
  "session/unarchive": SETTING,
  "session/status": SETTING,
  "mcp/message": SETTING,
  "proxy/initialize": SETTING,
  "proxy/successor": SETTING,
  "$/cancel_request": { none: "cancels a request of the same client" },
  "_sandboxagent/session/detach": { none: "ends the client's own view of a session" },
  "_sandboxagent/session/terminate": ENDS,
  "_sandboxagent/session/list_models": OWN_RECORDS,
  "_sandboxagent/session/set_metadata": { none: "changes metadata that only clients read" },
  "_sandboxagent/session/list": OWN_RECORDS,
  "_sandboxagent/session/get": OWN_RECORDS,
  "_sandboxagent/fs/list_entries": FILE_ACCESS,
  "_sandboxagent/fs/read_file": FILE_ACCESS,
  "_sandboxagent/fs/write_file": FILE_ACCESS,
  "_sandboxagent/fs/delete_entry": FILE_ACCESS,
  "_sandboxagent/fs/mkdir": FILE_ACCESS,
  "_sandboxagent/fs/move": FILE_ACCESS,
  "_sandboxagent/fs/stat": FILE_ACCESS,
  "_sandboxagent/fs/upload_batch": FILE_ACCESS,
  "_sandboxagent/agent/list": OWN_RECORDS,
  "_sandboxagent/agent/install": SETTING,
  cancel: ENDS,
  "skills/update": { none: "has the agent list the skills of its host anew" },
  "host/tools/update": { none: "has the agent list the tools of its host anew" },
  "agent/resume": { point: "prompt" },
  user_message: { point: "prompt" },
  "session/input": { point: "prompt" },
  "agent/user_message": { point: "prompt" },
  "tool/pre_use": RETIRED,
  "tool/post_use": RETIRED,
  "tool/request_approval": RETIRED,
  [CUSTOM]: SETTING,
} as const satisfies Doors;

/** What agents send: ACP's client methods. */
export const AGENT_DOORS = {
  "session/update": { point: "after_the_fact" },
  "session/request_permission": { point: "tool_call" },
  "fs/read_text_file": { point: "file_access" },
  "fs/write_text_file": { point: "file_access" },
  "terminal/create": { point: "terminal" },
  "terminal/output": OF_A_TERMINAL,
  "terminal/wait_for_exit": OF_A_TERMINAL,
  "terminal/kill": OF_A_TERMINAL,
  "terminal/release": OF_A_TERMINAL,
  "elicitation/create": { point: "client_request" },
  "_sandboxagent/session/request_question": { point: "client_request" },
  "elicitation/complete": { none: "tells clients that a question was answered" },
  "auth/status_update": { none: "tells clients whether the agent is logged in" },
  [CUSTOM]: { point: "client_request" },
  builtin_call: { point: "client_request" },
  "host/capabilities": LENT,
  "host/tools/list": LENT,
  "tool_search/query": LENT,
  "skills/list": LENT,
  "skills/fetch": LENT,
  "skill/match": LENT,
  "tool/pre_use": RETIRED,
  "tool/post_use": RETIRED,
  "tool/request_approval": RETIRED,
  "mcp/message": { closed: "agents reach MCP servers through the gateway alone" },
  "proxy/initialize": { closed: "no agent is a proxy of another" },
  "proxy/successor": { closed: "no agent is a proxy of another" },
  "$/cancel_request": { none: "cancels a request of the same agent" },
} as const satisfies Doors;

/** What an agent says in `session/update`. Outside of a turn, words and plans are unprompted work. */
export const UPDATE_DOORS = {
  tool_call: { point: "after_the_fact" },
  tool_call_update: { point: "after_the_fact" },
  agent_message_chunk: { point: "unprompted_work" },
  agent_thought_chunk: { point: "unprompted_work" },
  plan: { point: "unprompted_work" },
  plan_update: REPORT,
  plan_removed: REPORT,
  user_message_chunk: { closed: "repeats a person; passes only while a session is replayed" },
  usage_update: { none: "is charged to the session" },
  available_commands_update: REPORT,
  current_mode_update: { point: "after_the_fact" },
  config_option_update: { point: "after_the_fact" },
  session_info_update: REPORT,
  notice: REPORT,
  compaction_update: REPORT,
  compaction_summary_chunk: REPORT,
  session_message: REPORT,
  session_message_chunk: REPORT,
  subagent_update: { point: "after_the_fact" },
  skill_activated: REPORT,
  skill_deactivated: REPORT,
  skill_scope_tools: REPORT,
} as const satisfies Doors;

/** The parts of a prompt, by their type and by what a text holds. */
export const PROMPT_DOORS = {
  text: { point: "prompt" },
  image: { point: "prompt" },
  audio: { point: "prompt" },
  resource: { point: "prompt" },
  resource_link: { point: "file_access" },
  "resource without content": { point: "file_access" },
  "@path in a text": { point: "file_access" },
  "/command in a text": { point: "agent_command" },
} as const satisfies Doors;

/** MCP, from agents: every request and notification. */
export const MCP_AGENT_DOORS = {
  initialize: BOOKKEEPING,
  ping: BOOKKEEPING,
  "server/discover": BOOKKEEPING,
  "tools/list": { none: "lists the tools that the rules leave to the session, as they were pinned" },
  "tools/call": MCP_CALL,
  "completion/complete": MCP_CALL,
  "elicitation/create": MCP_CALL,
  "logging/setLevel": MCP_CALL,
  "messages/listen": MCP_CALL,
  "prompts/get": MCP_CALL,
  "prompts/list": MCP_CALL,
  "resources/list": MCP_CALL,
  "resources/read": MCP_CALL,
  "resources/subscribe": MCP_CALL,
  "resources/templates/list": MCP_CALL,
  "resources/unsubscribe": MCP_CALL,
  "roots/list": MCP_CALL,
  "sampling/createMessage": MCP_CALL,
  "subscriptions/listen": MCP_CALL,
  "tasks/cancel": MCP_CALL,
  "tasks/get": MCP_CALL,
  "tasks/list": MCP_CALL,
  "tasks/result": MCP_CALL,
  "tasks/update": MCP_CALL,
  "notifications/cancelled": BOOKKEEPING,
  "notifications/initialized": BOOKKEEPING,
  "notifications/progress": BOOKKEEPING,
  "notifications/roots/list_changed": BOOKKEEPING,
  "notifications/elicitation/complete": MCP_CALL,
  "notifications/message": MCP_CALL,
  "notifications/prompts/list_changed": MCP_CALL,
  "notifications/resources/list_changed": MCP_CALL,
  "notifications/resources/updated": MCP_CALL,
  "notifications/subscriptions/acknowledged": MCP_CALL,
  "notifications/tasks/status": MCP_CALL,
  "notifications/tools/list_changed": MCP_CALL,
} as const satisfies Doors;

/** MCP, requests from servers. */
export const MCP_SERVER_DOORS = {
  ping: BOOKKEEPING,
  "elicitation/create": MCP_CALL,
  "roots/list": MCP_CALL,
  "sampling/createMessage": MCP_CALL,
  "tasks/cancel": MCP_CALL,
  "tasks/get": MCP_CALL,
  "tasks/list": MCP_CALL,
  "tasks/result": MCP_CALL,
} as const satisfies Doors;

/** Events of AHP, over any transport. */
export const AHP_DOORS = {
  pre_action: AGENT_EVENT,
  pre_prompt: AGENT_EVENT,
  idle: AGENT_EVENT,
  context_perception: AGENT_EVENT,
  memory_recall: AGENT_EVENT,
  planning: AGENT_EVENT,
  reasoning: AGENT_EVENT,
  rate_limit: AGENT_EVENT,
  confirmation: AGENT_EVENT,
  intent_detection: AGENT_EVENT,
  handshake: { closed: "is a method of its own, and no event to decide" },
  query: { closed: "is a method of its own, and no event to decide" },
  session_start: REPORT,
  session_end: REPORT,
  post_action: REPORT,
  post_response: REPORT,
  error: REPORT,
  success: REPORT,
  heartbeat: REPORT,
  run_lifecycle: REPORT,
  task_list: REPORT,
  verification: REPORT,
} as const satisfies Doors;

/** Events of agents in terminals, which their hooks bring as events of AHP. */
export const HOOK_DOORS = {
  PreToolUse: AGENT_EVENT,
  preToolUse: AGENT_EVENT,
  BeforeTool: AGENT_EVENT,
  UserPromptSubmit: AGENT_EVENT,
  BeforeAgent: AGENT_EVENT,
  PostToolUse: REPORT,
  PostToolUseFailure: REPORT,
  AfterTool: REPORT,
  Stop: REPORT,
  AfterAgent: REPORT,
  SubagentStart: REPORT,
  SubagentStop: REPORT,
  SessionStart: REPORT,
  SessionEnd: REPORT,
  postToolUse: REPORT,
  postToolUseFailure: REPORT,
  agentStop: REPORT,
  subagentStart: REPORT,
  subagentStop: REPORT,
  sessionStart: REPORT,
  sessionEnd: REPORT,
} as const satisfies Doors;

const GRAPH_ACTION: Door = { point: "graph_action" };

/** What executes the actions of graphs, by its type. */
export const EXECUTOR_DOORS = {
  tool: GRAPH_ACTION,
  agent: GRAPH_ACTION,
  runtime: GRAPH_ACTION,
  human: GRAPH_ACTION,
  pipeline: GRAPH_ACTION,
  service: GRAPH_ACTION,
} as const satisfies Doors;

/** Messages of HAAK's `/ws`. */
export const HAAK_DOORS = {
  "session.init": SESSION_START,
  "turn.run": { point: "prompt" },
  "session.cancel": ENDS,
  "session.close": ENDS,
  "session.status": OWN_RECORDS,
} as const satisfies Doors;

const MODEL_CALL: Door = { point: "model_call" };

/** Methods of model providers that agents call through the gateway. */
export const MODEL_DOORS = {
  "anthropic messages": MODEL_CALL,
  "anthropic count_tokens": MODEL_CALL,
  "openai responses": MODEL_CALL,
  "openai chat": MODEL_CALL,
  "gemini generateContent": MODEL_CALL,
  "gemini countTokens": MODEL_CALL,
} as const satisfies Doors;

/** The methods of some doors that lead to a kind of control point. */
export function methodsAt(doors: Doors, kind: ControlPoint["kind"]): readonly string[] {
  return Object.entries(doors).flatMap(([method, door]) =>
    "point" in door && door.point === kind ? [method] : [],
  );
}

/** The door of a method, if it has one. */
export function doorOf(doors: Doors, method: string): Door | undefined {
  return Object.hasOwn(doors, method) ? doors[method] : undefined;
}
