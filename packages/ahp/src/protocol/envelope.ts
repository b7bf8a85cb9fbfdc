import type { z } from "zod";
import { any, i32, optional, struct, text } from "../wire/schema.ts";

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
