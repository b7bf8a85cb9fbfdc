import type { AhpEvent, EventType, HandshakeRequest, QueryRequest } from "@reins/ahp";
import { SAMPLES } from "./samples.ts";

/** Who the kit says it is, in every message, so that a harness that remembers handshakes knows it again. */
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
