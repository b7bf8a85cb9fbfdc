/** Limits and timeouts of the gateway. */
export interface GatewayLimits {
  /** The largest body, in bytes; protocols with their own framing have their own limits. */
  readonly maxBodyBytes: number;
  /** The largest ACP message, in bytes. */
  readonly maxMessageBytes: number;
  /** The most open connections of a listener. */
  readonly maxConnections: number;
  /** The most unauthenticated connections, in total and per address. */
  readonly unknownConnections: number;
  readonly unknownConnectionsPerAddress: number;
  /** For bodies of unauthenticated requests: largest size, most at once, timeout. */
  readonly anonymousBodyBytes: number;
  readonly anonymousBodies: number;
  readonly anonymousBodiesPerAddress: number;
  readonly anonymousBodyMs: number;
  /** The most bytes in flight per principal. */
  readonly arrivingBytesPerPrincipal: number;
  /** The most open event streams. */
  readonly maxStreams: number;
  readonly headersTimeoutMs: number;
  /** The timeout for a request to arrive. */
  readonly requestTimeoutMs: number;
  /** The timeout of a response. */
  readonly answerTimeoutMs: number;
  /** The keep-alive interval of streams. */
  readonly keepAliveMs: number;
  /** The most bytes buffered for a slow reader. */
  readonly maxBufferedBytes: number;
  /** How long they may wait before the reader is dropped. */
  readonly stallMs: number;
  /** How long running requests may take when the gateway closes. */
  readonly drainMs: number;
  /** How many wrong credentials one address may show at once, and how long until it may show one more. */
  readonly failures: number;
  readonly failureMs: number;
}

const DEFAULT_LIMITS: GatewayLimits = {
  maxBodyBytes: 1024 * 1024,
  maxMessageBytes: 16 * 1024 * 1024,
  maxConnections: 10_000,
  unknownConnections: 2_000,
  unknownConnectionsPerAddress: 1_000,
  anonymousBodyBytes: 4 * 1024,
  anonymousBodies: 64,
  anonymousBodiesPerAddress: 16,
  anonymousBodyMs: 5_000,
  arrivingBytesPerPrincipal: 256 * 1024 * 1024,
  maxStreams: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  answerTimeoutMs: 30_000,
  keepAliveMs: 15_000,
  maxBufferedBytes: 1024 * 1024,
  stallMs: 30_000,
  drainMs: 5_000,
  failures: 10,
  failureMs: 6_000,
};

/** Fills in the defaults. */
export function settleLimits(limits: Partial<GatewayLimits> = {}): GatewayLimits {
  return { ...DEFAULT_LIMITS, ...limits };
}

/** The gateway's log. Receives no query strings, bodies or secrets. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
