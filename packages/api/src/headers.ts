// Apart from the operations that use them: a client in a browser needs the names alone.

/** The header that names a connection of `/v1/rpc`. */
export const RPC_CONNECTION = "X-ACP-Connection-Id";
/** The headers that name a connection of `/acp`, and a session of it. */
export const ACP_CONNECTION = "Acp-Connection-Id";
export const ACP_SESSION = "Acp-Session-Id";
