/** The forms of JSON-RPC as ACP speaks it, for both ends of a line. */
export { isObject, type JsonObject, membersOf, type RequestId, sort } from "./message.ts";
export { CODE, RpcError } from "./rpc-error.ts";
