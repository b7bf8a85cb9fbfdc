/** The ways in which a message can reach a server. */
export type TransportName = "stdio" | "http" | "websocket" | "unix" | "memory";

/**
 * Whoever sent a message. On streams one peer stands for one connection, so its identity carries the handshake;
 * over HTTP each request has a peer of its own and `sessionToken` carries it.
 */
export interface Peer {
  readonly transport: TransportName;
  /** Who the peer proved to be; absent where nobody asked. */
  readonly principal?: string | undefined;
  /** The token of an earlier handshake, where the transport has a place for it. */
  readonly sessionToken?: string | undefined;
}

/** A peer in the same process. */
export function memoryPeer(): Peer {
  return { transport: "memory" };
}
