/** How much an agent and a server may ask of each other, and how long things may take. */
export interface McpLimits {
  /** The longest line, body or event, in bytes. */
  readonly messageBytes: number;
  /** What may lie unread for a peer, in bytes, before it is cut off. */
  readonly bufferedBytes: number;
  /** Governed calls of one server that may be decided or under way at a time. */
  readonly callsInFlight: number;
  /** Other requests that may be under way at a time, in either direction. */
  readonly requestsInFlight: number;
  /** What a server may ask of the agent in a minute, of which each is decided and recorded. */
  readonly serverRequestsPerMinute: number;
  /** Connections or sessions that an agent may have with one server at a time. */
  readonly connections: number;
  /** Tools of one server that are listed and remembered. */
  readonly tools: number;
  /** How long a server may take from its start to its first answer. */
  readonly startMs: number;
  /** How long a server may take to leave after it was asked to. */
  readonly stopMs: number;
  /** How long a server may take to say what came of a call that was cancelled. */
  readonly cancelMs: number;
  /** The wait before a server that ended is started again; it doubles each time. */
  readonly firstBackoffMs: number;
  /** The longest wait before a server is started again; one that lived that long is forgiven. */
  readonly mostBackoffMs: number;
  /** How often a silent HTTP stream is kept alive. */
  readonly keepAliveMs: number;
  /** How long a server that serves no session is kept without being asked anything. */
  readonly idleMs: number;
}

/** The bounds that hold unless others are given. */
export const MCP_LIMITS: McpLimits = {
  messageBytes: 16 * 1_024 * 1_024,
  bufferedBytes: 64 * 1_024 * 1_024,
  callsInFlight: 64,
  requestsInFlight: 256,
  serverRequestsPerMinute: 120,
  connections: 16,
  tools: 4_096,
  startMs: 30_000,
  stopMs: 2_000,
  cancelMs: 5_000,
  firstBackoffMs: 250,
  mostBackoffMs: 30_000,
  keepAliveMs: 15_000,
  idleMs: 60_000,
};
