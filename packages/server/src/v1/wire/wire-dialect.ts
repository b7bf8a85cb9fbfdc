import { type LoggedRequest, wireOperations } from "@reins/api";
import type { GovernedCall } from "../../dialect/call.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import { expectOperatorsTenant } from "../operators-tenant.ts";
import type { RequestRing } from "./request-ring.ts";
import { splitSecrets, withoutText } from "./split-secrets.ts";
import { tellTail } from "./tail.ts";
import type { KeptEnvelope, WireRing } from "./wire-ring.ts";

const { listEnvelopes, streamEnvelopes, listRequests, streamRequests } = wireOperations;
const DEFAULT_LIMIT = 200;

type Filter = Partial<
  Readonly<Record<"session" | "protocol" | "edge" | "direction" | "agent" | "method", string | undefined>>
>;

/** What goes over the wires: envelopes of both protocols, and requests to this API. */
export function wireDialect(wire: WireRing, requests: RequestRing): Dialect {
  return {
    name: "wire",
    mount(place) {
      place.governed(listEnvelopes, async (call) => {
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
      place.stream(streamEnvelopes, (call, open) => {
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
        return tellTail(call, open, growing, telling);
      });
      place.governed(listRequests, async ({ query: { limit = DEFAULT_LIMIT, after }, principal }) => {
        expectOperatorsTenant(principal, "requests are of all tenants");
        const found = requests.items.filter(({ seq }) => after === undefined || seq > after);
        const page = after === undefined ? found.slice(-limit) : found.slice(0, limit);
        return { requests: page, next: page.at(-1)?.seq ?? after ?? requests.last };
      });
      place.stream(streamRequests, async (call, open) => {
        expectOperatorsTenant(call.principal, "requests are of all tenants");
        const growing = {
          get last() {
            return requests.last;
          },
          after: (place: number) => requests.items.filter(({ seq }) => seq > place),
          listen: (ring: () => void) => requests.listen(ring),
        };
        const telling = { event: "request", shown: (some: readonly LoggedRequest[]) => some };
        await tellTail(call, open, growing, telling);
      });
    },
  };
}

/** Which envelopes somebody asks for and may see: those of their tenant, the operator all. */
function fitting({ principal, supervisor }: GovernedCall, filter: Filter, after = -1) {
  const { session, protocol, edge, direction, agent, method } = filter;
  const wanted = Object.entries({ session, protocol, edge, direction, agent, method });
  const given = wanted.filter(([, value]) => value !== undefined);
  const seesAll = principal.id === supervisor.LOCAL;
  return (envelope: KeptEnvelope): boolean =>
    envelope.seq > after &&
    (seesAll || envelope.tenant === principal.tenant) &&
    given.every(([name, value]) => Reflect.get(envelope, name) === value);
}

/** Envelopes without secrets, those that lie across several included. */
function shown({ harness }: GovernedCall, wire: WireRing, some: readonly KeptEnvelope[]): object[] {
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
