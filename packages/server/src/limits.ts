/** How much the gateway takes, and how long it waits. */
export interface GatewayLimits {
  /** The largest body of a request, in bytes; routes with framing of their own have bounds of their own. */
  readonly maxBodyBytes: number;
  /** The largest message of ACP, in bytes. */
  readonly maxMessageBytes: number;
  /** How many connections one listener has open at once. */
  readonly maxConnections: number;
  /** How many of them may be of nobody who has shown a credential, together and of one address. */
  readonly unknownConnections: number;
  readonly unknownConnectionsPerAddress: number;
  /** The largest body of a request that needs no credential, how many arrive at once, and how long each may take. */
  readonly anonymousBodyBytes: number;
  readonly anonymousBodies: number;
  readonly anonymousBodiesPerAddress: number;
  readonly anonymousBodyMs: number;
  /** How much of the bodies of one principal may be arriving at once, in bytes. */
  readonly arrivingBytesPerPrincipal: number;
  /** How many event streams are open at once. */
  readonly maxStreams: number;
  readonly headersTimeoutMs: number;
  /** How long a request may take to arrive. */
  readonly requestTimeoutMs: number;
  /** How long an answer may take to be found. */
  readonly answerTimeoutMs: number;
  /** How often a quiet stream says that it lives. */
  readonly keepAliveMs: number;
  /** How much may wait for a reader of a stream that does not read; then nothing more is written. */
  readonly maxBufferedBytes: number;
  /** How long it may wait before the reader is dropped. */
  readonly stallMs: number;
  /** How long what is under way may take to finish when the gateway closes. */
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

/** The defaults with what an operator set. */
export function settleLimits(limits: Partial<GatewayLimits> = {}): GatewayLimits {
  return { ...DEFAULT_LIMITS, ...limits };
}

/** Takes what the gateway has to say. Never given query strings, bodies or secrets. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
