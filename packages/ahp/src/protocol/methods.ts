import type { z } from "zod";
import { any, list, optional, struct, text, u32, u64, usize } from "../wire/schema.ts";
import { Decision } from "./decisions.ts";
import { AhpEvent } from "./event.ts";

/** The protocol version this package speaks. */
export const PROTOCOL_VERSION = "2.4";

/** The four methods; all of them go from agent to harness. */
export type Method = "ahp/handshake" | "ahp/event" | "ahp/query" | "ahp/batch";

/** Who the agent is and what it can do. */
export const AgentInfo = struct("AgentInfo", { framework: text, version: text, capabilities: list(text) });
export type AgentInfo = z.infer<typeof AgentInfo>;

/** Params of `ahp/handshake`. */
export const HandshakeRequest = struct("HandshakeRequest", {
  protocol_version: text,
  agent_info: AgentInfo,
  session_id: text,
  agent_id: text,
});
export type HandshakeRequest = z.infer<typeof HandshakeRequest>;

/** Who the harness is and what it can do. */
export const HarnessInfo = struct("HarnessInfo", { name: text, version: text, capabilities: list(text) });
export type HarnessInfo = z.infer<typeof HarnessInfo>;

/** The limits a harness sets; an absent limit is not enforced. */
export const HarnessConfig = struct("HarnessConfig", {
  timeout_ms: optional(u64),
  batch_size: optional(usize),
  max_depth: optional(u32),
});
export type HarnessConfig = z.infer<typeof HarnessConfig>;

/** Result of `ahp/handshake`. */
export const HandshakeResponse = struct("HandshakeResponse", {
  protocol_version: text,
  harness_info: HarnessInfo,
  session_token: optional(text),
  config: optional(HarnessConfig),
});
export type HandshakeResponse = z.infer<typeof HandshakeResponse>;

/** Params of `ahp/query`. */
export const QueryRequest = struct("QueryRequest", {
  session_id: text,
  agent_id: text,
  query_type: text,
  payload: any,
});
export type QueryRequest = z.infer<typeof QueryRequest>;

/** Result of `ahp/query`. */
export const QueryResponse = struct("QueryResponse", {
  answer: any,
  reason: optional(text),
  alternatives: optional(list(text)),
});
export type QueryResponse = z.infer<typeof QueryResponse>;

/** Params of `ahp/batch`. */
export const BatchRequest = struct("BatchRequest", { events: list(AhpEvent) });
export type BatchRequest = z.infer<typeof BatchRequest>;

/** Result of `ahp/batch`: one decision for each event, in order. */
export const BatchResponse = struct("BatchResponse", { decisions: list(Decision) });
export type BatchResponse = z.infer<typeof BatchResponse>;
