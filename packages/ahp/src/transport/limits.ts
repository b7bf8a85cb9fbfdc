/** What one peer may ask of a server before it has to wait or is turned away. */
export interface Limits {
  /** The largest message, in bytes. */
  readonly maxMessageBytes: number;
  /**
   * How many messages of one peer are worked on at once, events that wait for a decision and others each by themselves. On
   * a connection as many more wait and the rest is left unread; over HTTP, where a peer is a session, more are refused.
   */
  readonly maxInFlight: number;
  /** The same of all peers of a principal, and of all principals. */
  readonly maxInFlightPerPrincipal: number;
  readonly maxInFlightTotal: number;
  /** How many bytes those messages have together. */
  readonly maxInFlightBytesPerPrincipal: number;
  readonly maxInFlightBytesTotal: number;
  /** How many bytes of replies may wait for a peer that does not read; then its requests are left unread. */
  readonly maxBufferedBytes: number;
  /** How long replies may wait for a peer that does not read before it is cut off. */
  readonly stallMs: number;
  /** How many connections are open at once; more are refused. */
  readonly maxConnections: number;
  /** How long requests under way may take to finish when the server closes. */
  readonly drainMs: number;
}

const DEFAULT_LIMITS: Limits = {
  maxMessageBytes: 2 * 1024 * 1024,
  maxInFlight: 256,
  maxInFlightPerPrincipal: 4_096,
  maxInFlightTotal: 16_384,
  maxInFlightBytesPerPrincipal: 64 * 1024 * 1024,
  maxInFlightBytesTotal: 256 * 1024 * 1024,
  maxBufferedBytes: 4 * 1024 * 1024,
  stallMs: 30_000,
  maxConnections: 10_000,
  drainMs: 5_000,
};

/** The defaults with what an operator set. */
export function settleLimits(limits: Partial<Limits> = {}): Limits {
  const settled = { ...DEFAULT_LIMITS, ...limits };
  // Two of the largest messages find room, or one would wait for ever.
  const least = 2 * settled.maxMessageBytes;
  const maxInFlightBytesPerPrincipal = Math.max(least, settled.maxInFlightBytesPerPrincipal);
  const maxInFlightBytesTotal = Math.max(maxInFlightBytesPerPrincipal, settled.maxInFlightBytesTotal);
  return { ...settled, maxInFlightBytesPerPrincipal, maxInFlightBytesTotal };
}
