import { describe, expect, test } from "vitest";
import { argumentsOf, type ControlPoint, decidersOf, payloadOf, toolOf, traitsOf } from "./control-point.ts";

const call = { id: "call-1", reported: { title: "List files", rawInput: { command: "ls" } } };

const GRAPH = {
  run_id: "run_1",
  action_id: "look",
  title: "Look",
  depends_on: [],
  executor: "tool:read_file",
};

/** One point of each kind, with what it becomes. */
const POINTS: {
  readonly [Kind in ControlPoint["kind"]]: {
    readonly point: Extract<ControlPoint, { readonly kind: Kind }>;
    readonly event: string;
    readonly tool: string;
    readonly payload: unknown;
  };
} = {
  prompt: {
    point: { kind: "prompt", payload: { prompt: "hello", message_count: 1 }, origin: "client" },
    event: "pre_prompt",
    tool: "session/prompt",
    payload: { prompt: "hello", message_count: 1 },
  },
  unprompted_work: {
    point: { kind: "unprompted_work", message: "tool_call" },
    event: "pre_prompt",
    tool: "session/prompt",
    payload: { prompt: "[tool_call outside of every turn]", message_count: 0 },
  },
  model_call: {
    point: {
      kind: "model_call",
      payload: { tool_name: "model/call", arguments: { model: "m" }, tokens_used: 3 },
      reserves: { tokens: 10, cost: 1 },
    },
    event: "pre_prompt",
    tool: "model/call",
    payload: { tool_name: "model/call", arguments: { model: "m" }, tokens_used: 3 },
  },
  tool_call: {
    point: {
      kind: "tool_call",
      payload: { tool_name: "Bash", arguments: { command: "ls" }, kind: "execute", title: "List files" },
      call,
      takesOnce: true,
    },
    event: "pre_action",
    tool: "Bash",
    payload: { tool_name: "Bash", arguments: { command: "ls" }, kind: "execute", title: "List files" },
  },
  file_access: {
    point: { kind: "file_access", tool: "fs/write_text_file", arguments: { path: "/w/a", content: "text" } },
    event: "pre_action",
    tool: "fs/write_text_file",
    payload: { tool_name: "fs/write_text_file", arguments: { path: "/w/a", content: "text" } },
  },
  advice: {
    point: { kind: "advice", event_type: "memory_recall", payload: { query: "q" } },
    event: "memory_recall",
    tool: "memory_recall",
    payload: { query: "q" },
  },
  terminal: {
    point: { kind: "terminal", tool: "terminal/create", arguments: { line: "make" } },
    event: "pre_action",
    tool: "terminal/create",
    payload: { tool_name: "terminal/create", arguments: { line: "make" } },
  },
  client_request: {
    point: { kind: "client_request", tool: "elicitation/create", arguments: { message: "which?" } },
    event: "pre_action",
    tool: "elicitation/create",
    payload: { tool_name: "elicitation/create", arguments: { message: "which?" } },
  },
  mcp_call: {
    point: { kind: "mcp_call", tool: "mcp:lab/deploy", arguments: { to: "x" }, call },
    event: "pre_action",
    tool: "mcp:lab/deploy",
    payload: { tool_name: "mcp:lab/deploy", arguments: { to: "x" } },
  },
  graph_action: {
    point: {
      kind: "graph_action",
      payload: { tool_name: "read_file", arguments: { path: "a" }, graph: GRAPH },
      tools: "agent",
      call,
    },
    event: "pre_action",
    tool: "read_file",
    payload: { tool_name: "read_file", arguments: { path: "a" }, graph: GRAPH },
  },
  mcp_start: {
    point: { kind: "mcp_start", tool: "mcp/start", arguments: { name: "lab", command: ["lab"] } },
    event: "pre_action",
    tool: "mcp/start",
    payload: { tool_name: "mcp/start", arguments: { name: "lab", command: ["lab"] } },
  },
  mcp_definition: {
    point: { kind: "mcp_definition", tool: "mcp/definition", arguments: { tool: "mcp:lab/x", changes: [] } },
    event: "pre_action",
    tool: "mcp/definition",
    payload: { tool_name: "mcp/definition", arguments: { tool: "mcp:lab/x", changes: [] } },
  },
  setting: {
    point: { kind: "setting", tool: "session/set_mode", arguments: { mode: "plan", asks: "true" } },
    event: "pre_action",
    tool: "session/set_mode",
    payload: { tool_name: "session/set_mode", arguments: { mode: "plan", asks: "true" } },
  },
  agent_command: {
    point: { kind: "agent_command", tool: "agent/command", arguments: { command: "/init" } },
    event: "pre_action",
    tool: "agent/command",
    payload: { tool_name: "agent/command", arguments: { command: "/init" } },
  },
  session_start: {
    point: { kind: "session_start", tool: "session/new", arguments: { cwd: "/w" }, origin: "client" },
    event: "session_start",
    tool: "session/new",
    payload: { tool_name: "session/new", arguments: { cwd: "/w" } },
  },
  after_the_fact: {
    point: {
      kind: "after_the_fact",
      payload: { tool_name: "Bash", arguments: { command: "make" } },
      tools: "agent",
      seen: { call, outcome: "completed" },
    },
    event: "post_action",
    tool: "Bash",
    payload: { tool_name: "Bash", arguments: { command: "make" } },
  },
};
const rows = Object.values(POINTS).map((row) => [row.point.kind, row] as const);

describe("a control point", () => {
  test.each(rows)("of kind %s raises its event with its payload", (_, { point, event, tool, payload }) => {
    expect(traitsOf(point).event_type).toBe(event);
    expect(toolOf(point)).toBe(tool);
    expect(payloadOf(point)).toEqual(payload);
  });

  test.each(rows)("of kind %s shows people the arguments that are decided", (_, { point, payload }) => {
    const isWhole = ["prompt", "unprompted_work", "advice"].includes(point.kind);
    const decided = isWhole ? payload : { ...(payload as object) };
    const shown = isWhole ? argumentsOf(point) : { ...(decided as object), arguments: argumentsOf(point) };
    expect(shown).toEqual(decided);
  });

  test("says that a client asks where a client does, and an agent everywhere else", () => {
    const ofClients = rows
      .filter(([, { point }]) => traitsOf(point).origin === "client")
      .map(([kind]) => kind);
    expect(ofClients).toEqual(["prompt", "mcp_start", "setting", "agent_command", "session_start"]);
    expect(traitsOf({ kind: "prompt", payload: {}, origin: "agent" }).origin).toBe("agent");
  });

  test("is observed only where nothing could prevent it", () => {
    const levels = new Map(rows.map(([kind, { point }]) => [kind, traitsOf(point).level]));
    const at = (level: string) => [...levels].filter(([, one]) => one === level).map(([kind]) => kind);
    expect(at("observed")).toEqual(["unprompted_work", "after_the_fact"]);
    expect(at("agent")).toEqual(["prompt", "tool_call"]);
  });

  test("is decided by the agent's own tool table where the agent names the tool", () => {
    const own = rows.filter(([, { point }]) => traitsOf(point).tools === "agent").map(([kind]) => kind);
    expect(own).toEqual(["tool_call", "graph_action", "after_the_fact"]);
    const claim = { ...POINTS.after_the_fact.point, tools: "acp" } as const;
    expect(traitsOf(claim).tools).toBe("acp");
    expect(traitsOf({ ...POINTS.file_access.point, isUnattended: true }).tools).toBe("agent");
  });

  test("belongs to the turn unless a client changes a setting or starts a session, or a tool is defined anew", () => {
    const outside = rows.filter(([, { point }]) => !traitsOf(point).inTurn).map(([kind]) => kind);
    expect(outside).toEqual(["mcp_definition", "setting", "session_start"]);
  });
});

describe("people", () => {
  test("are asked about everything that has not happened yet, but for advice", () => {
    const unasked = rows.filter(([, { point }]) => decidersOf(point) !== "rules_and_people");
    expect(unasked.map(([kind]) => kind)).toEqual(["unprompted_work", "advice", "after_the_fact"]);
  });

  test("are not asked about a notification, a file for a model's context, nor a folder that is out of reach", () => {
    expect(decidersOf({ ...POINTS.file_access.point, isUnattended: true })).toBe("rules_alone");
    expect(decidersOf({ ...POINTS.setting.point, isNotification: true })).toBe("rules_alone");
    expect(decidersOf({ ...POINTS.session_start.point, outOfReach: "it is not yours" })).toBe("rules");
  });
});
