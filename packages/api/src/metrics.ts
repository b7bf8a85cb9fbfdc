import { z } from "zod";
import { operation } from "./operation.ts";
import { LongLimit, Moment, Name, named, PageLimit, Position } from "./schema.ts";

const percentiles = z
  .looseObject({ count: z.int(), p50: z.number(), p90: z.number(), p99: z.number(), max: z.number() })
  .describe("in milliseconds, of the last few minutes");

const report = z
  .looseObject({
    at: Moment.describe("when the last one arrived"),
    count: z.int().describe("how many there were"),
    payload: z.string().describe("of the last one, as JSON; its beginning where it is long"),
  })
  .optional();

const series = z.array(z.number().nullable());

/** The figures of a running Reins. */
export const Overview = named(
  "Overview",
  z.looseObject({
    at: Moment,
    started_at: Moment,
    version: z.string(),
    decisions: z.looseObject({
      total: z.int().describe("since the start"),
      by_verdict: z.record(z.string(), z.int()).describe("allowed, blocked, ask, defer, modify"),
      by_enforcement: z.record(z.string(), z.int()),
      latency_ms: percentiles.describe(
        "from the question to the durable verdict; people's time is not in it",
      ),
    }),
    approvals: z.looseObject({
      pending: z.int(),
      oldest_wait_ms: z.number().nullable().describe("how long the oldest of them has been waiting"),
      answered: z.int().describe("since the start"),
      wait_ms: percentiles.describe("how long people took to answer"),
    }),
    usage: z.looseObject({
      turns: z.int().describe("that ended since the start"),
      tokens: z.int().describe("that they used, as far as agents report them"),
      cost_usd: z.number().describe("what they cost, likewise"),
    }),
    sessions: z.looseObject({ live: z.int().describe("with an agent behind them"), running: z.int() }),
    processes: z.looseObject({
      agents: z.int(),
      memory_bytes: z.int().nullable().describe("of agents and their descendants"),
    }),
    agent_reports: z
      .array(
        z.looseObject({
          tenant: z.string(),
          user: z.string().describe("for whom the agent acts"),
          agent: z.string(),
          session: z.string(),
          heartbeat: report,
          success: report,
          error: report,
        }),
      )
      .describe("the last `heartbeat`, `success` and `error` of each agent and session, newest first"),
    log: z.looseObject({ events: z.int(), per_second: z.number() }),
    ledger: z.looseObject({ entries: z.int(), per_second: z.number() }),
    requests: z.looseObject({ total: z.int(), per_second: z.number(), latency_ms: percentiles }),
    event_loop_ms: z.looseObject({ p50: z.number(), p99: z.number(), max: z.number() }),
    stalls: z
      .looseObject({
        count: z.int(),
        total_ms: z.number(),
        last: z.looseObject({ at: z.string(), ms: z.number(), where: z.array(z.string()) }).nullable(),
      })
      .describe("how often the main thread was blocked for two seconds, and where it was the last time"),
    memory: z.looseObject({ rss: z.int(), heap_used: z.int(), external: z.int() }),
    history: z
      .looseObject({
        step_ms: z.int(),
        at: z.array(z.int()).describe("milliseconds since 1970, the oldest first"),
        decisions: series.describe("in each step"),
        blocked: series,
        asked: series,
        latency_p50_ms: series,
        latency_p99_ms: series,
        ledger_entries: series,
        log_events: series,
        requests: series,
        event_loop_p99_ms: series,
        rss_bytes: series,
        pending_approvals: series,
      })
      .describe("the last hour at most, for pictures; null where nothing was measured"),
  }),
);
export type Overview = z.infer<typeof Overview>;

/** The figures of a running Reins, for admins of the default tenant, because they cover all tenants. */
export const metricsOperations = {
  getOverview: operation({
    id: "get_overview",
    method: "GET",
    path: "/v1/overview",
    summary: "Returns the figures of this Reins.",
    audience: "server",
    answer: Overview,
    problems: ["unavailable"],
  }),
  getMetrics: operation({
    id: "get_metrics",
    method: "GET",
    path: "/metrics",
    summary: "Returns the figures for Prometheus; docs/operations.md explains the names.",
    audience: "server",
    answer: z.string(),
    media: "text/plain; version=0.0.4; charset=utf-8",
    problems: ["unavailable"],
  }),
} as const;

/** Operations on audit records, apart from the ledger's own, which clients in a browser load. */
export const auditOperations = {
  pullAudit: operation({
    id: "pull_audit",
    method: "GET",
    path: "/v1/audit",
    summary:
      "Returns entries after a cursor as audit records, one JSON document per line, the oldest first; see docs/telemetry.md.",
    audience: "admin",
    query: z.strictObject({
      cursor: z
        .string()
        .max(90)
        .optional()
        .describe("that of the last record that was received, `<seq>.<cid>`; from the beginning without one"),
      format: z.enum(["jsonl", "ocsf"]).optional().describe("by default jsonl"),
      limit: LongLimit.describe("by default 1000"),
    }),
    answer: z.string(),
    media: "application/x-ndjson",
    problems: ["conflict"],
  }),
} as const;

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
