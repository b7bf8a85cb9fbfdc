import type { AhpEvent, EventType, HandshakeRequest, PayloadFor, QueryRequest } from "@reins/ahp";

const session_id = "ahp-conformance";
const updated_at = "2026-05-01T00:00:01Z";
const artifact = { id: "log-1", kind: "log", mime_type: "text/plain", size_bytes: 12 };
const evidence = { kind: "log", summary: "the failure was reproduced", artifact };

/** A payload for each event type, as a harmless agent would send it. */
export const SAMPLES: { readonly [Type in EventType]: PayloadFor<Type> } = {
  handshake: {},
  query: {},
  pre_action: { action_type: "tool_call", tool_name: "read_file", arguments: { path: "README.md" } },
  post_action: { action_type: "tool_call", tool_name: "read_file", result: { status: "ok" } },
  pre_prompt: { prompt: "What does this project do?", message_count: 1 },
  post_response: { response_text: "It does little.", tool_calls_count: 0 },
  session_start: { session_id },
  session_end: { session_id, duration_ms: 5 },
  error: { error_type: "tool_error", error_message: "no such file" },
  heartbeat: { uptime_ms: 5, total_events_processed: 1, current_state: "working" },
  success: { session_id, action_type: "tool_call", action_summary: "read a file", duration_ms: 5 },
  idle: { idle_duration_ms: 1000, idle_reason: "nothing to do", last_event_type: "post_action" },
  intent_detection: { session_id, prompt: "Where is the parser?", workspace: "/workspace" },
  context_perception: {
    session_id,
    intent: "locate",
    target: { location: { path: ".", location_type: "workspace" } },
    domain: "coding",
    context: { workspace: "/workspace", query: "Where is the parser?" },
    constraints: { max_results: 5, include_sources: true },
  },
  memory_recall: {
    session_id,
    query: "parser",
    memory_type: "semantic",
    max_results: 5,
    working_directory: "/workspace",
  },
  planning: {
    session_id,
    task_description: "rename a function",
    available_strategies: ["step_by_step", { custom: "by-hand" }],
  },
  reasoning: {
    session_id,
    reasoning_type: "chain_of_thought",
    problem_statement: "which file comes first",
    hints: ["alphabetically"],
  },
  rate_limit: {
    session_id,
    limit_type: "llm_token_limit",
    retry_after_ms: 100,
    current_usage: "90000 of 100000 tokens",
  },
  confirmation: {
    session_id,
    confirmation_type: "user_confirm",
    message: "May the file be read?",
    options: ["yes", "no"],
  },
  run_lifecycle: {
    run_id: "run-1",
    session_id,
    status: "executing",
    prompt: "rename a function",
    started_at: "2026-05-01T00:00:00Z",
    updated_at,
  },
  task_list: {
    run_id: "run-1",
    session_id,
    updated_at,
    tasks: [{ id: "step-1", title: "Find the function", status: "completed", evidence: [evidence] }],
  },
  verification: {
    run_id: "run-1",
    session_id,
    status: "passed",
    updated_at,
    checks: [{ id: "test", subject: "the tests", status: "passed", command: "npm test" }],
    residual_risks: [],
  },
};

/** The kit's names, the same in every message, by which a harness finds its session. */
const NAMES = { session_id: "ahp-conformance", agent_id: "ahp-conformance-agent" } as const;

/** Params of a handshake as an agent of today sends them. */
export const HANDSHAKE = {
  protocol_version: "2.4",
  agent_info: { framework: "ahp-conformance", version: "1", capabilities: ["pre_action"] },
  ...NAMES,
} as const satisfies Readonly<
  Omit<HandshakeRequest, "agent_info"> & {
    agent_info: Readonly<Omit<HandshakeRequest["agent_info"], "capabilities">> & {
      capabilities: readonly string[];
    };
  }
>;

/** Params of a query that any harness can make something of. */
export const QUERY: QueryRequest = { ...NAMES, query_type: "status", payload: { topic: "conformance" } };

/** An event as an agent sends it, with the sample payload of its type. */
export function event(type: EventType, changes: Partial<AhpEvent> = {}): AhpEvent {
  return {
    event_type: type,
    ...NAMES,
    timestamp: "2026-05-01T00:00:00Z",
    depth: 0,
    payload: SAMPLES[type],
    ...changes,
  };
}

/** The text of a request. */
export function requestText(id: string | number, method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

/** The text of a notification. */
export function notificationText(method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}
