/** What one peer may ask of a server before it has to wait or is turned away. */
export interface Limits {
  /** The largest message, in bytes. */
  readonly maxMessageBytes: number;
  /** How many requests of one connection are worked on at once; more are left unread. Over HTTP: of one peer; more are refused. */
  readonly maxInFlight: number;
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
  maxBufferedBytes: 4 * 1024 * 1024,
  stallMs: 30_000,
  maxConnections: 10_000,
  drainMs: 5_000,
};

/** The defaults with what an operator set. */
export function settleLimits(limits: Partial<Limits> = {}): Limits {
  return { ...DEFAULT_LIMITS, ...limits };
}
