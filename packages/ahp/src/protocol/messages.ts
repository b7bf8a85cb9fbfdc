import { z } from "zod";
import { any, i32, list, nullable, optional, shaped, struct, text, u32, u64, usize } from "../wire/schema.ts";
import { Decision } from "./decisions.ts";
import { AhpEvent } from "./event.ts";

/** A JSON-RPC request as AHP peers read it: the id is a string. */
export const AhpRequest = struct("AhpRequest", { jsonrpc: text, id: text, method: text, params: any });
export type AhpRequest = z.infer<typeof AhpRequest>;

/** A JSON-RPC notification. */
export const AhpNotification = struct("AhpNotification", { jsonrpc: text, method: text, params: any });
export type AhpNotification = z.infer<typeof AhpNotification>;

/** The error of a response. */
export const RpcError = struct("RpcError", { code: i32, message: text, data: optional(any) });
export type RpcError = z.infer<typeof RpcError>;

/** A JSON-RPC response: a result or an error. */
export const AhpResponse = struct("AhpResponse", {
  jsonrpc: text,
  id: text,
  result: optional(any),
  error: optional(RpcError),
});
export type AhpResponse = z.infer<typeof AhpResponse>;

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

/** Timeouts of a client. The retry members exist for other implementations; here `reconnect` rules. */
export const TransportConfig = struct("TransportConfig", {
  timeout_ms: u64,
  max_retries: u32,
  retry_delay_ms: u64,
});
export type TransportConfig = z.infer<typeof TransportConfig>;

const methods = {
  none: {},
  api_key: { key: text },
  bearer: { token: text },
  mutual_tls: { cert_path: text, key_path: text, ca_path: nullable(text) },
  o_auth: { client_id: text, client_secret: text, token_url: text },
};

/** How a client proves who it is. `o_auth` is the protocol's spelling. */
export const AuthMethod = shaped(
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("none") }),
    z.object({ type: z.literal("api_key"), ...methods.api_key }),
    z.object({ type: z.literal("bearer"), ...methods.bearer }),
    z.object({ type: z.literal("mutual_tls"), ...methods.mutual_tls }),
    z.object({ type: z.literal("o_auth"), ...methods.o_auth }),
  ]),
  { kind: "internal", name: "AuthMethod", tag: "type", variants: methods },
);
export type AuthMethod = z.infer<typeof AuthMethod>;

/** Authentication settings as they stand in a configuration file; they never travel. */
export const AuthConfig = struct("AuthConfig", { method: AuthMethod });
export type AuthConfig = z.infer<typeof AuthConfig>;
