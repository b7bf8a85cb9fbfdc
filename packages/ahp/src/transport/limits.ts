import type { Lane } from "../server/server.ts";

/** Limits of one peer; beyond them it waits or is rejected. */
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
  /** How long running requests may take when the server closes. */
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

/** Fills in the defaults. */
export function settleLimits(limits: Partial<Limits> = {}): Limits {
  const settled = { ...DEFAULT_LIMITS, ...limits };
  // There must be room for two of the largest messages, or one would never be read.
  const least = 2 * settled.maxMessageBytes;
  const maxInFlightBytesPerPrincipal = Math.max(least, settled.maxInFlightBytesPerPrincipal);
  const maxInFlightBytesTotal = Math.max(maxInFlightBytesPerPrincipal, settled.maxInFlightBytesTotal);
  return { ...settled, maxInFlightBytesPerPrincipal, maxInFlightBytesTotal };
}

type InFlightLimits = Pick<
  Limits,
  | "maxInFlight"
  | "maxInFlightPerPrincipal"
  | "maxInFlightTotal"
  | "maxInFlightBytesPerPrincipal"
  | "maxInFlightBytesTotal"
>;

/** Whose a message is: the principal, and which of its peers. A peer is a connection, or over HTTP a session by its name. */
export interface Sender {
  readonly principal: string;
  readonly peer: unknown;
}

/** A claim on the capacity for messages in flight. */
export interface Place {
  /** Takes more bytes, if there is room for them. */
  grow(bytes: number): boolean;
  release(): void;
}

class Use {
  requests = 0;
  bytes = 0;

  add(requests: number, bytes: number): void {
    this.requests += requests;
    this.bytes += bytes;
  }
}

class PrincipalUse extends Use {
  readonly peers = new Map<unknown, Use>();
}

/**
 * Messages in flight on one listener: arriving ones, those that wait for a decision, and all others, each limited by
 * itself. Principals share the capacity, and peers that of their principal, by one rule: a share grows only while it is
 * no larger than what remains. So the first gets half at most, and later ones find room. Peer names are free to choose,
 * so a peer that uses many of them only takes from its own principal.
 */
export class InFlight {
  readonly #limits: InFlightLimits;
  readonly #pools: Readonly<Record<Lane | "arriving", Pool>>;
  readonly #waiting = new Set<() => void>();
  #waking = false;

  constructor(limits: InFlightLimits) {
    this.#limits = limits;
    this.#pools = { arriving: new Pool(), decisions: new Pool(), others: new Pool() };
  }

  /** A place for a message of so many bytes; nothing when there is none. */
  take(lane: Lane | "arriving", sender: Sender, bytes: number): Place | undefined {
    const pool = this.#pools[lane];
    if (!pool.fits(this.#limits, sender, 1, bytes)) return undefined;
    pool.add(sender, 1, bytes);
    let held = bytes;
    let released = false;
    return {
      grow: (more) => {
        if (released || !pool.fits(this.#limits, sender, 0, more)) return false;
        pool.add(sender, 0, more);
        held += more;
        return true;
      },
      release: () => {
        if (released) return;
        released = true;
        pool.add(sender, -1, -held);
        this.#wake();
      },
    };
  }

  /** Runs a callback once when capacity is released; waiters run in order. */
  whenReleased(run: () => void): void {
    this.#waiting.add(run);
  }

  forget(run: () => void): void {
    this.#waiting.delete(run);
  }

  /** Once for all that is released in one go, so that many that wait cost little. */
  #wake(): void {
    if (this.#waking || this.#waiting.size === 0) return;
    this.#waking = true;
    setImmediate(() => {
      this.#waking = false;
      const woken = [...this.#waiting];
      this.#waiting.clear();
      for (const run of woken) run();
    });
  }
}

/** Messages in flight of one kind: in total, by principal and by peer. */
class Pool {
  readonly #all = new Use();
  readonly #principals = new Map<string, PrincipalUse>();

  fits(limits: InFlightLimits, { principal, peer }: Sender, requests: number, bytes: number): boolean {
    const whole = this.#all;
    const ofPrincipal = this.#principals.get(principal);
    const ofPeer = ofPrincipal?.peers.get(peer);
    const { maxInFlightPerPrincipal: most, maxInFlightBytesPerPrincipal: mostBytes } = limits;
    return (
      isFair(ofPrincipal?.requests, requests, most, limits.maxInFlightTotal - whole.requests) &&
      isFair(ofPrincipal?.bytes, bytes, mostBytes, limits.maxInFlightBytesTotal - whole.bytes) &&
      isFair(ofPeer?.requests, requests, limits.maxInFlight, most - (ofPrincipal?.requests ?? 0)) &&
      isFair(ofPeer?.bytes, bytes, mostBytes, mostBytes - (ofPrincipal?.bytes ?? 0))
    );
  }

  add({ principal, peer }: Sender, requests: number, bytes: number): void {
    this.#all.add(requests, bytes);
    const ofPrincipal = this.#principals.get(principal) ?? new PrincipalUse();
    const ofPeer = ofPrincipal.peers.get(peer) ?? new Use();
    ofPrincipal.add(requests, bytes);
    ofPeer.add(requests, bytes);
    if (ofPeer.requests > 0) ofPrincipal.peers.set(peer, ofPeer);
    else ofPrincipal.peers.delete(peer);
    if (ofPrincipal.requests > 0) this.#principals.set(principal, ofPrincipal);
    else this.#principals.delete(principal);
  }
}

/** Whether a share may grow: up to a bound, and no more than is left for others. */
function isFair(held = 0, more: number, most: number, left: number): boolean {
  return more === 0 || held + more <= Math.min(most, left);
}
