import { type LoggedRequest, wireOperations } from "@reins/api";
import { sseText } from "@reins/kit";
import { isOperator, type Redactor } from "@reins/supervisor";
import { z } from "zod";
import type { AnsweredRequest } from "../gateway/application.ts";
import { follow, type Growing } from "../routes/follow.ts";
import type { AuthorizedCall, Routes } from "../routes/router.ts";
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
        const { query } = call;
        const after = (seq: number) => wire.list(fitting(call, query, seq), query.session);
        return follow(
          call,
          open,
          growing(wire, "envelope", after, (some) => shown(call, wire, some)),
        );
      });
      router.handle(listRequests, async ({ query: { limit = DEFAULT_LIMIT, after } }) => {
        const found = requests.items.filter(({ seq }) => after === undefined || seq > after);
        const page = after === undefined ? found.slice(-limit) : found.slice(0, limit);
        return { requests: page, next: page.at(-1)?.seq ?? after ?? requests.last };
      });
      router.stream(streamRequests, async (call, open) => {
        const after = (place: number) => requests.items.filter(({ seq }) => seq > place);
        await follow(call, open, growing(requests, "request", after));
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

/** Reads this many at once, so that other requests do not wait long. */
const MOST_AT_ONCE = 100;

/** The new items of a ring, as events. A slow reader misses evicted ones. */
function growing<Item extends { readonly seq: number }>(
  ring: { readonly last: number; listen(wake: () => void): () => void },
  event: string,
  after: (seq: number) => readonly Item[],
  shown: (items: readonly Item[]) => readonly object[] = (items) => items,
): Growing {
  return {
    newest: () => ring.last,
    subscribe: (wake) => ring.listen(wake),
    after: (before) => {
      // Items added meanwhile are read in the next round.
      const { last } = ring;
      const items = after(before).slice(0, MOST_AT_ONCE);
      const contents = shown(items);
      const position = items.length < MOST_AT_ONCE ? Math.max(before, last) : (items.at(-1)?.seq ?? last);
      const texts = items.map(({ seq }, index) => sseText({ id: seq, event, json: contents[index] }));
      return { texts, position, more: position !== ring.last };
    },
  };
}

/** A message chunk of an agent. */
const Chunk = z.object({
  params: z.object({
    update: z.object({
      sessionUpdate: z.enum(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]),
      content: z.object({ text: z.string() }),
    }),
  }),
});

interface Piece {
  readonly seq: number;
  readonly text: string;
}

/**
 * Finds envelopes whose joined texts contain a secret that none contains alone, because an agent may split it over
 * messages. Where earlier chunks were evicted, the first remaining ones may be the end of one, so they count too.
 */
export function splitSecrets(
  envelopes: readonly KeptEnvelope[],
  redactor: Pick<Redactor, "text">,
  forgotten: boolean,
): ReadonlySet<number> {
  const hidden = new Set<number>();
  for (const [index, pieces] of runsIn(envelopes).entries()) {
    const whole = pieces.map(({ text }) => text).join("");
    const isCut = forgotten && index === 0;
    if (isCut || redactor.text(whole) !== whole) for (const { seq } of pieces) hidden.add(seq);
  }
  return hidden;
}

/** Consecutive chunks of one kind on one wire. */
function runsIn(envelopes: readonly KeptEnvelope[]): Piece[][] {
  const runs: Piece[][] = [];
  const open = new Map<string, { readonly kind: string; readonly run: Piece[] }>();
  for (const { seq, edge, direction, peer, method, message } of envelopes) {
    if (method !== "session/update") continue;
    const wire = `${edge} ${direction} ${peer}`;
    const { data } = Chunk.safeParse(message);
    if (!data) {
      open.delete(wire);
      continue;
    }
    const { sessionUpdate: kind, content } = data.params.update;
    const known = open.get(wire);
    const run = known?.kind === kind ? known.run : [];
    if (run.length === 0) runs.push(run);
    run.push({ seq, text: content.text });
    open.set(wire, { kind, run });
  }
  return runs;
}

/** A message without its text. */
export function withoutText(message: unknown): unknown {
  const { data } = z
    .looseObject({
      params: z.looseObject({ update: z.looseObject({ content: z.looseObject({ text: z.string() }) }) }),
    })
    .safeParse(message);
  if (!data) return message;
  const { params } = data;
  const { update } = params;
  const content = { ...update.content, text: "[redacted: a part of a secret]" };
  return { ...data, params: { ...params, update: { ...update, content } } };
}
