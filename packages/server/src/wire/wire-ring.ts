import type { WireEnvelope } from "@reins/api";
import type { Passing } from "@reins/host";

/** What passed by, of either protocol. */
export interface Passed extends Omit<Passing, "message"> {
  readonly protocol: WireEnvelope["protocol"];
  readonly message: Readonly<Record<string, unknown>>;
}

/** An envelope as it is kept: with its secrets, in memory alone. */
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
  /** About how many characters it takes to keep it. */
  readonly size: number;
}

const MOST_OF_SESSION = 500;
const MOST_SESSIONS = 200;
const MOST_CHARACTERS = 64 * 1_024;
const MOST_ASKED = 2_000;
/** How much is kept of all sessions together. */
const MOST_TOGETHER = 32 * 1_024 * 1_024;
/** Of how many sessions it is known that they were forgotten. */
const MOST_FORGOTTEN = 10_000;
/** What an envelope takes beside its message. */
const ENVELOPE_CHARACTERS = 256;

/**
 * The newest envelopes, so many of each session, so that one that talks a lot does not hide the others. To take one in
 * costs next to nothing; secrets are taken out when somebody looks.
 */
export class WireRing {
  readonly #sessions = new Map<string, Ring<KeptEnvelope>>();
  readonly #listeners = new Set<(envelope: KeptEnvelope) => void>();
  /** What requests were about, by which answers are known. */
  readonly #asked = new Map<string, Pick<KeptEnvelope, "method" | "session">>();
  /** Sessions that were forgotten whole, and may come back. */
  readonly #forgotten = new Set<string>();
  readonly #now: () => number;
  /** The one that was used last. */
  #newest: { readonly key: string; readonly ring: Ring<KeptEnvelope> } | undefined;
  #seq = 0;
  #dropped = 0;
  /** How much is kept. */
  #characters = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Takes an envelope in. */
  readonly take = (passed: Passed): void => {
    this.#seq += 1;
    const envelope = this.#envelope(passed);
    this.#characters += envelope.size;
    this.#release(this.#ringOf(envelope.session ?? "").push(envelope));
    while (this.#characters > MOST_TOGETHER) this.#makeRoom();
    for (const listener of this.#listeners) listener(envelope);
  };

  /** Whether envelopes of a session were kept no longer. */
  forgot(session: string | null): boolean {
    const key = session ?? "";
    return this.#forgotten.has(key) || (this.#sessions.get(key)?.dropped ?? 0) > 0;
  }

  /** How many envelopes were kept no longer. */
  get dropped(): number {
    return [...this.#sessions.values()].reduce((sum, ring) => sum + ring.dropped, this.#dropped);
  }

  /** The number of the newest. */
  get last(): number {
    return this.#seq;
  }

  /** Those that fit, the oldest first. */
  list(fits: (envelope: KeptEnvelope) => boolean, session?: string): readonly KeptEnvelope[] {
    const rings = session === undefined ? [...this.#sessions.values()] : [this.#sessions.get(session)];
    const found = rings.flatMap((ring) => ring?.items ?? []).filter(fits);
    return found.sort((left, right) => left.seq - right.seq);
  }

  /** Tells of every envelope; the returned function ends that. */
  listen(listener: (envelope: KeptEnvelope) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #ringOf(key: string): Ring<KeptEnvelope> {
    if (this.#newest?.key === key) return this.#newest.ring;
    const ring = this.#sessions.get(key) ?? new Ring<KeptEnvelope>(MOST_OF_SESSION);
    // The one that was used last comes last, so that the first is the one to be forgotten.
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

  /** The method and session of a message; those of an answer are the request's. */
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

  /** Forgets the older half of the session that was quiet longest; with the last of it, the session. */
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

/** What is kept of a message that is too large: which it is. */
function shortened({ jsonrpc, id, method }: Passed["message"]): object {
  return { jsonrpc, ...(id !== undefined && { id }), ...(method !== undefined && { method }) };
}

/** Something that is kept at a place. */
interface Placed {
  readonly seq: number;
}

const NONE: readonly never[] = [];

/** The newest of something, so many of them; each has a number that grows. */
export class Ring<Item extends Placed> {
  readonly #most: number;
  #items: Item[] = [];
  #dropped = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds one; of too many the oldest are forgotten, some at a time. Gives those. */
  push(item: Item): readonly Item[] {
    this.#items.push(item);
    // Some at once, because to move all for each would cost more than all else.
    return this.#items.length > this.#most * 1.25 ? this.drop(this.#items.length - this.#most) : NONE;
  }

  /** Forgets the oldest, and gives them. */
  drop(count: number): readonly Item[] {
    this.#dropped += count;
    return this.#items.splice(0, count);
  }

  /** How many were forgotten. */
  get dropped(): number {
    return this.#dropped;
  }

  /** All that are kept, the oldest first. */
  get items(): readonly Item[] {
    return this.#items;
  }
}

/** About how many characters a value has as JSON; no more is looked at than it takes to see that it is too large. */
export function sizeWithin(value: unknown, most: number): number | undefined {
  const left = leftOf(value, most, MOST_DEEP);
  return left < 0 ? undefined : most - left;
}

/** What is nested deeper is as good as too large: nobody could look at it. */
const MOST_DEEP = 100;

/** What is left of so much room. Every message passes by here, so that nothing is made on the way. */
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
