import type { AhpEvent } from "../src/index.ts";

/** The event that is measured: an ordinary blocking one. */
export const EVENT = {
  event_type: "pre_action",
  session_id: "c2a6f0de-6d0b-4f0c-8a53-0d5d5a0f1c9e",
  agent_id: "agent-7",
  timestamp: "2026-02-04T12:00:00.000Z",
  depth: 0,
  payload: {
    action_type: "tool_call",
    tool_name: "bash",
    arguments: { command: "npm test -- --project unit", cwd: "/srv/project", timeout_ms: 120_000 },
  },
} as const satisfies AhpEvent;

/** The same as the request that carries it, about 400 bytes. */
export const REQUEST = JSON.stringify({
  jsonrpc: "2.0",
  id: "7b0c3a52-1f0e-4c55-9d0e-3f6b2f6a9c11",
  method: "ahp/event",
  params: EVENT,
});
