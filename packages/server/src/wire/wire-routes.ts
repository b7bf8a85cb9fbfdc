import { type LoggedRequest, wireOperations } from "@reins/api";
import { AutoResetEvent, type SseWriter, sseText } from "@reins/kit";
import { isOperator } from "@reins/supervisor";
import { requireDefaultTenant } from "../access/authenticator.ts";
import type { AnsweredRequest } from "../gateway/application.ts";
import { lastEventId } from "../gateway/request.ts";
import type { AuthorizedCall, Routes } from "../routes/router.ts";
import { splitSecrets, withoutText } from "./split-secrets.ts";
import { type KeptEnvelope, Ring, type WireRing } from "./wire-ring.ts";

const { listEnvelopes, streamEnvelopes, listRequests, streamRequests } = wireOperations;
const DEFAULT_LIMIT = 200;

type Filter = Partial<
  Readonly<Record<"session" | "protocol" | "edge" | "direction" | "agent" | "method", string | undefined>>
>;

/** Envelopes of both protocols, and requests to this API. */
export function wireRoutes(wire: WireRing, requests: RequestRing): Routes {
  return {
    name: "wire",
    mount(router) {
      router.handle(listEnvelopes, async (call) => {
        const { query } = call;
        const { limit = DEFAULT_LIMIT, after, ...filter } = query;
        const found = wire.list(fitting(call, filter, after), query.session);
        const page = after === undefined ? found.slice(-limit) : found.slice(0, limit);
        return {
          envelopes: shown(call, wire, page),
          dropped: wire.dropped,
          next: page.at(-1)?.seq ?? after ?? wire.last,
        };
      });
      router.stream(streamEnvelopes, (call, open) => {
        const growing = {
          get last() {
            return wire.last;
          },
          after: (seq: number) => wire.list(fitting(call, call.query, seq), call.query.session),
          listen: (ring: () => void) => wire.listen(ring),
        };
        const telling = {
          event: "envelope",
          shown: (some: readonly KeptEnvelope[]) => shown(call, wire, some),
        };
        return streamTail(call, open, growing, telling);
      });
      router.handle(listRequests, async ({ query: { limit = DEFAULT_LIMIT, after }, principal }) => {
        requireDefaultTenant(principal, "requests are of all tenants");
        const found = requests.items.filter(({ seq }) => after === undefined || seq > after);
        const page = after === undefined ? found.slice(-limit) : found.slice(0, limit);
        return { requests: page, next: page.at(-1)?.seq ?? after ?? requests.last };
      });
      router.stream(streamRequests, async (call, open) => {
        requireDefaultTenant(call.principal, "requests are of all tenants");
        const growing = {
          get last() {
            return requests.last;
          },
          after: (place: number) => requests.items.filter(({ seq }) => seq > place),
          listen: (ring: () => void) => requests.listen(ring),
        };
        const telling = { event: "request", shown: (some: readonly LoggedRequest[]) => some };
        await streamTail(call, open, growing, telling);
      });
    },
  };
}

/** Matches envelopes by the caller's filter and tenant. */
function fitting({ principal }: AuthorizedCall, filter: Filter, after = -1) {
  const { session, protocol, edge, direction, agent, method } = filter;
  const wanted = Object.entries({ session, protocol, edge, direction, agent, method });
  const given = wanted.filter(([, value]) => value !== undefined);
  const seesAll = isOperator(principal);
  return (envelope: KeptEnvelope): boolean =>
    envelope.seq > after &&
    (seesAll || envelope.tenant === principal.tenant) &&
    given.every(([name, value]) => Reflect.get(envelope, name) === value);
}

/** Redacts envelopes, including secrets split over several. */
function shown({ harness }: AuthorizedCall, wire: WireRing, some: readonly KeptEnvelope[]) {
  const sessions = new Set(some.map(({ session }) => session));
  const split = [...sessions].map((session) => {
    const all = wire.list((envelope) => envelope.session === session, session ?? "");
    return splitSecrets(all, harness.redactor, wire.forgot(session));
  });
  return some.map(({ tenant: _, size: __, at, message, ...envelope }) => {
    const isPart = split.some((hidden) => hidden.has(envelope.seq));
    const kept = isPart ? withoutText(message) : message;
    return { ...envelope, at: new Date(at).toISOString(), message: harness.redact(kept) };
  });
}

const MOST = 1_000;

/** The newest answered requests. */
export class RequestRing {
  readonly #ring = new Ring<LoggedRequest & { readonly seq: number }>(MOST);
  readonly #listeners = new Set<(request: LoggedRequest) => void>();
  readonly #now: () => Date;
  #seq = 0;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /** Adds a request. */
  readonly take = ({ method, route, path, status, ms, principal }: AnsweredRequest): void => {
    this.#seq += 1;
    const at = this.#now().toISOString();
    const request = { seq: this.#seq, at, method, route, path, status, ms, principal };
    this.#ring.push(request);
    for (const listener of this.#listeners) listener(request);
  };

  /** The newest sequence number. */
  get last(): number {
    return this.#seq;
  }

  /** All requests, oldest first. */
  get items(): readonly LoggedRequest[] {
    return this.#ring.items;
  }

  /** Subscribes to requests; returns `unsubscribe`. */
  listen(listener: (request: LoggedRequest) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

/** A growing list of which the newest items are available. */
interface Tail<Item extends { readonly seq: number }> {
  /** The newest sequence number. */
  readonly last: number;
  /** Visible items after a sequence number, oldest first. */
  after(seq: number): readonly Item[];
  /** Subscribes to new items; returns `unsubscribe`. */
  listen(ring: () => void): () => void;
}

/** The batch size, so that other requests do not wait long. */
const MOST_AT_ONCE = 100;

/** The name of the events, and their form. */
interface Telling<Item> {
  readonly event: string;
  readonly shown: (items: readonly Item[]) => readonly object[];
}

/** Streams new items, from now or after the last event. A slow reader misses evicted ones. */
async function streamTail<Item extends { readonly seq: number }>(
  { request, currentPrincipal }: AuthorizedCall,
  open: () => SseWriter,
  growing: Tail<Item>,
  { event, shown }: Telling<Item>,
): Promise<void> {
  let position = Math.min(lastEventId(request) ?? growing.last, growing.last);
  const stream = open();
  const woken = new AutoResetEvent();
  const unlisten = growing.listen(() => woken.set());
  stream.onKeepAlive(() => woken.set());
  stream.closed.addEventListener("abort", () => woken.set(), { once: true });
  try {
    await stream.send(sseText({ id: position }));
    while (!stream.closed.aborted && (await currentPrincipal())) {
      // Items added meanwhile are read in the next round.
      const { last } = growing;
      const items = growing.after(position).slice(0, MOST_AT_ONCE);
      const told = shown(items);
      for (const [index, { seq }] of items.entries())
        if (!(await stream.send(sseText({ id: seq, event, json: told[index] })))) return;
      position = items.length < MOST_AT_ONCE ? Math.max(position, last) : (items.at(-1)?.seq ?? last);
      if (growing.last === position) await woken.wait();
    }
  } finally {
    unlisten();
  }
}
