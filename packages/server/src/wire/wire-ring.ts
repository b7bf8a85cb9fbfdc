import type { WireEnvelope } from "@reins/api";
import type { Passing } from "@reins/host";

/** A message of either protocol. */
export interface Passed extends Omit<Passing, "message"> {
  readonly protocol: WireEnvelope["protocol"];
  readonly message: Readonly<Record<string, unknown>>;
}

/** An envelope in memory, with its secrets. */
export interface KeptEnvelope {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly protocol: WireEnvelope["protocol"];
  readonly edge: WireEnvelope["edge"];
  readonly direction: WireEnvelope["direction"];
  readonly tenant: string;
  readonly session: string | null;
  readonly peer: string;
  readonly agent: string | null;
  readonly kind: WireEnvelope["kind"];
  readonly method: string | null;
  readonly id: string | number | null;
  readonly truncated: boolean;
  readonly message: unknown;
  /** Its approximate size in characters. */
  readonly size: number;
}

const MOST_OF_SESSION = 500;
const MOST_SESSIONS = 200;
const MOST_CHARACTERS = 64 * 1_024;
const MOST_ASKED = 2_000;
/** The limit for all sessions together. */
const MOST_TOGETHER = 32 * 1_024 * 1_024;
/** The most evicted sessions to remember. */
const MOST_FORGOTTEN = 10_000;
/** The overhead of an envelope. */
const ENVELOPE_CHARACTERS = 256;

/**
 * The newest envelopes, limited per session, so that a busy session does not displace others. Redaction happens on
 * reading.
 */
export class WireRing {
  readonly #sessions = new Map<string, Ring<KeptEnvelope>>();
  readonly #listeners = new Set<(envelope: KeptEnvelope) => void>();
  /** Methods and sessions of requests, to classify their responses. */
  readonly #asked = new Map<string, Pick<KeptEnvelope, "method" | "session">>();
  /** Sessions that were evicted completely. */
  readonly #forgotten = new Set<string>();
  readonly #now: () => number;
  /** The ring used last. */
  #newest: { readonly key: string; readonly ring: Ring<KeptEnvelope> } | undefined;
  #seq = 0;
  #dropped = 0;
  /** The total size. */
  #characters = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Adds an envelope. */
  readonly take = (passed: Passed): void => {
    this.#seq += 1;
    const envelope = this.#envelope(passed);
    this.#characters += envelope.size;
    this.#release(this.#ringOf(envelope.session ?? "").push(envelope));
    while (this.#characters > MOST_TOGETHER) this.#makeRoom();
    for (const listener of this.#listeners) listener(envelope);
  };

  /** Whether envelopes of a session were evicted. */
  forgot(session: string | null): boolean {
    const key = session ?? "";
    return this.#forgotten.has(key) || (this.#sessions.get(key)?.dropped ?? 0) > 0;
  }

  /** The number of evicted envelopes. */
  get dropped(): number {
    return [...this.#sessions.values()].reduce((sum, ring) => sum + ring.dropped, this.#dropped);
  }

  /** The newest sequence number. */
  get last(): number {
    return this.#seq;
  }

  /** Matching envelopes, oldest first. */
  list(fits: (envelope: KeptEnvelope) => boolean, session?: string): readonly KeptEnvelope[] {
    const rings = session === undefined ? [...this.#sessions.values()] : [this.#sessions.get(session)];
    const found = rings.flatMap((ring) => ring?.items ?? []).filter(fits);
    return found.sort((left, right) => left.seq - right.seq);
  }

  /** Subscribes to envelopes; returns `unsubscribe`. */
  listen(listener: (envelope: KeptEnvelope) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #ringOf(key: string): Ring<KeptEnvelope> {
    if (this.#newest?.key === key) return this.#newest.ring;
    const ring = this.#sessions.get(key) ?? new Ring<KeptEnvelope>(MOST_OF_SESSION);
    // Moves it to the end: the first is evicted next.
    this.#sessions.delete(key);
    this.#sessions.set(key, ring);
    this.#newest = { key, ring };
    if (this.#sessions.size > MOST_SESSIONS) this.#forgetOldest();
    return ring;
  }

  #envelope({ message, protocol, edge, direction, tenant, session, peer, agent }: Passed): KeptEnvelope {
    const kind = kindOf(message);
    const id = idOf(message);
    const known = this.#about({ kind, id, peer, edge, direction }, message, session);
    const size = sizeWithin(message, MOST_CHARACTERS);
    const fits = size !== undefined;
    return {
      seq: this.#seq,
      at: this.#now(),
      protocol,
      edge,
      direction,
      tenant,
      session: known.session,
      peer,
      agent: agent ?? null,
      kind,
      method: known.method,
      id,
      truncated: !fits,
      message: fits ? message : shortened(message),
      size: (size ?? 0) + ENVELOPE_CHARACTERS,
    };
  }

  /** The method and session of a message; a response has those of its request. */
  #about(
    { kind, id, peer, edge, direction }: Pick<KeptEnvelope, "kind" | "id" | "peer" | "edge" | "direction">,
    { method }: Passed["message"],
    session: string | undefined,
  ): Pick<KeptEnvelope, "method" | "session"> {
    const about = { method: typeof method === "string" ? method : null, session: session ?? null };
    if (id === null || kind === "notification") return about;
    const asker = kind === "request" ? direction : direction === "in" ? "out" : "in";
    const key = `${edge} ${peer} ${asker} ${id}`;
    if (kind !== "request") {
      const asked = this.#asked.get(key);
      this.#asked.delete(key);
      return { method: asked?.method ?? null, session: session ?? asked?.session ?? null };
    }
    this.#asked.set(key, about);
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > MOST_ASKED && oldest !== undefined) this.#asked.delete(oldest);
    return about;
  }

  #forgetOldest(): void {
    const [oldest] = this.#sessions;
    if (!oldest) return;
    const [key, ring] = oldest;
    this.#release(ring.drop(ring.items.length));
    this.#dropped += ring.dropped;
    this.#sessions.delete(key);
    this.#forgotten.delete(key);
    this.#forgotten.add(key);
    const [first] = this.#forgotten;
    if (this.#forgotten.size > MOST_FORGOTTEN && first !== undefined) this.#forgotten.delete(first);
  }

  /** Evicts the older half of the least recently used session. */
  #makeRoom(): void {
    const [ring] = this.#sessions.values();
    if (ring && ring.items.length > 1) this.#release(ring.drop(Math.floor(ring.items.length / 2)));
    else this.#forgetOldest();
  }

  #release(dropped: readonly KeptEnvelope[]): void {
    for (const { size } of dropped) this.#characters -= size;
  }
}

function kindOf({ method, id, error }: Passed["message"]): WireEnvelope["kind"] {
  if (method !== undefined) return id === undefined ? "notification" : "request";
  return error === undefined ? "answer" : "error";
}

function idOf({ id }: Passed["message"]): string | number | null {
  return typeof id === "string" || typeof id === "number" ? id : null;
}

/** What remains of a message that is too large. */
function shortened({ jsonrpc, id, method }: Passed["message"]): object {
  return { jsonrpc, ...(id !== undefined && { id }), ...(method !== undefined && { method }) };
}

interface Placed {
  readonly seq: number;
}

const NONE: readonly never[] = [];

/** A ring of the newest items. */
export class Ring<Item extends Placed> {
  readonly #most: number;
  #items: Item[] = [];
  #dropped = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds an item; returns the evicted ones. */
  push(item: Item): readonly Item[] {
    this.#items.push(item);
    // Evicts in batches, because moving the array is expensive.
    return this.#items.length > this.#most * 1.25 ? this.drop(this.#items.length - this.#most) : NONE;
  }

  /** Evicts the oldest items and returns them. */
  drop(count: number): readonly Item[] {
    this.#dropped += count;
    return this.#items.splice(0, count);
  }

  /** The number of evicted items. */
  get dropped(): number {
    return this.#dropped;
  }

  /** All items, oldest first. */
  get items(): readonly Item[] {
    return this.#items;
  }
}

/** Estimates the JSON length of a value; undefined beyond a limit. */
export function sizeWithin(value: unknown, most: number): number | undefined {
  const left = leftOf(value, most, MOST_DEEP);
  return left < 0 ? undefined : most - left;
}

/** Deeper nesting counts as too large. */
const MOST_DEEP = 100;

/** The remaining room. Allocates nothing, because every message passes here. */
function leftOf(value: unknown, room: number, deep: number): number {
  if (typeof value === "string") return room - value.length - 2;
  if (typeof value !== "object" || value === null) return room - 4;
  if (deep === 0) return -1;
  let left = room - 2;
  for (const name in value) {
    if (left < 0) return left;
    left = leftOf(Reflect.get(value, name), left - name.length - 3, deep - 1);
  }
  return left;
}
