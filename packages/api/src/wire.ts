import { z } from "zod";
import { operation } from "./operation.ts";
import { Moment, Name, named, PageLimit, Position } from "./schema.ts";

const Protocol = z.enum(["acp", "ahp"]);
const Edge = z.enum(["client", "agent"]);
const Direction = z.enum(["in", "out"]);

/** A message as it went over a wire, without secrets. */
export const WireEnvelope = named(
  "WireEnvelope",
  z.looseObject({
    seq: z.int().describe("grows with every envelope; a missing one was dropped"),
    at: Moment,
    protocol: Protocol,
    edge: Edge.describe("between a client and Reins, or between Reins and an agent"),
    direction: Direction.describe("as Reins sees it"),
    session: z.string().nullable().describe("the id of the session it is about, as Reins calls it"),
    peer: z.string().nullable().describe("the connection or the process at the other end"),
    agent: z.string().nullable(),
    kind: z.enum(["request", "notification", "answer", "error"]),
    method: z.string().nullable().describe("of an answer: of the request it answers, where that is known"),
    id: z.union([z.string(), z.number()]).nullable(),
    truncated: z.boolean().describe("whether it was too large to be kept whole"),
    message: z.unknown(),
  }),
);
export type WireEnvelope = z.infer<typeof WireEnvelope>;

/** Some envelopes, the oldest first. */
export const WirePage = named(
  "WirePage",
  z.looseObject({
    envelopes: z.array(WireEnvelope),
    dropped: z.int().describe("how many envelopes were dropped since the start"),
    next: z.int().optional().describe("to be given as `after` for what comes later"),
  }),
);

/** A request that was answered. Query strings and bodies are never kept. */
export const LoggedRequest = named(
  "LoggedRequest",
  z.looseObject({
    seq: z.int(),
    at: Moment.describe("when it was answered"),
    method: z.string(),
    route: z
      .string()
      .nullable()
      .describe("the path with its names in braces; null when there is nothing at it"),
    path: z.string(),
    status: z.int(),
    ms: z.number().describe("from its arrival to the end of the answer"),
    principal: z.string().nullable(),
  }),
);
export type LoggedRequest = z.infer<typeof LoggedRequest>;

/** Some requests, the oldest first. */
export const RequestPage = named(
  "RequestPage",
  z.looseObject({ requests: z.array(LoggedRequest), next: z.int().optional() }),
);

const filter = {
  session: Name.optional(),
  protocol: Protocol.optional(),
  edge: Edge.optional(),
  direction: Direction.optional(),
  agent: Name.optional(),
  method: Name.optional(),
};
const page = { limit: PageLimit, after: Position.optional().describe("only those after this `seq`") };

/** Operations on recorded messages, for admins of the tenant, and on requests, for admins of the default tenant. */
export const wireOperations = {
  listEnvelopes: operation({
    id: "list_envelopes",
    method: "GET",
    path: "/v1/wire",
    summary: "Lists the newest envelopes in memory; with `after`, those that follow it.",
    audience: "admin",
    query: z.strictObject({ ...filter, ...page }),
    answer: WirePage,
  }),
  streamEnvelopes: operation({
    id: "stream_envelopes",
    method: "GET",
    path: "/v1/wire/stream",
    summary: "Streams envelopes, from now on or after `Last-Event-ID` as far as they are in memory.",
    audience: "admin",
    query: z.strictObject(filter),
    answer: WireEnvelope,
    events: "envelope",
    problems: ["not_acceptable"],
  }),
  listRequests: operation({
    id: "list_requests",
    method: "GET",
    path: "/v1/wire/requests",
    summary: "Lists the newest requests to this API. Requires an admin of the default tenant.",
    audience: "server",
    query: z.strictObject(page),
    answer: RequestPage,
  }),
  streamRequests: operation({
    id: "stream_requests",
    method: "GET",
    path: "/v1/wire/requests/stream",
    summary: "Streams requests as they are answered. Requires an admin of the default tenant.",
    audience: "server",
    answer: LoggedRequest,
    events: "request",
    problems: ["not_acceptable"],
  }),
} as const;
