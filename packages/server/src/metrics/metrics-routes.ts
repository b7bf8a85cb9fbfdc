import { metricsOperations } from "@reins/api";
import type { Hosting } from "@reins/host";
import { memoryOf } from "@reins/host";
import type { Harness, Report } from "@reins/supervisor";
import { required } from "../access/authenticator.ts";
import type { AuthorizedCall, Routes } from "../routes/router.ts";
import type { Stalls, Watchdog } from "../watchdog/watchdog.ts";
import type { Measures } from "./measures.ts";
import { prometheusText } from "./prometheus.ts";

export interface MetricsOptions {
  readonly measures: Measures;
  readonly watchdog: Watchdog;
  readonly hosting: () => Promise<Hosting>;
  readonly version: string;
}

/** Metrics as JSON for the page, and for Prometheus. */
export function metricsRoutes({ measures, watchdog, hosting, version }: MetricsOptions): Routes {
  const look = async ({ harness }: AuthorizedCall): Promise<ServerState> => {
    const opened = await required(hosting);
    const standing = await serverState(harness, opened, new Date());
    measures.pending = standing.pending;
    return standing;
  };
  return {
    name: "metrics",
    mount(router) {
      router.handle(metricsOperations.getOverview, async (call) => ({
        ...overviewOf(measures, await look(call), new Date(), version),
        stalls: shownStalls(watchdog.stalls),
      }));
      router.text(metricsOperations.getMetrics, async function* (call) {
        yield prometheusText(measures, await look(call), version, watchdog.stalls);
      });
    },
    close: async () => {
      measures.stop();
      watchdog.stop();
    },
  };
}

function shownStalls({ count, totalMs, last }: Stalls) {
  return { count, total_ms: totalMs, last: last ?? null };
}

/** What is measured on request. */
export interface ServerState {
  readonly pending: number;
  readonly oldestWaitMs: number | null;
  readonly live: number;
  readonly running: number;
  readonly agents: number;
  readonly memoryBytes: number | null;
  readonly entries: number;
  readonly reports: readonly Report[];
  readonly memory: NodeJS.MemoryUsage;
  /** How well models keep to the protocol of action graphs. */
  readonly compliance: Hosting["protocol"]["compliance"];
}

const MOST_PENDING = 500;
const MOST_REPORTS = 300;
/** The window of recent latencies. */
const RECENT_MS = 5 * 60_000;

/** Measures the current state. */
async function serverState(harness: Harness, hosting: Hosting, now: Date): Promise<ServerState> {
  const tenants = await harness.identity.listTenants();
  const lists = tenants.map(({ id: tenant }) =>
    harness.approvals.list({ tenant, state: "pending", limit: MOST_PENDING }),
  );
  const pending = (await Promise.all(lists)).flat();
  const oldest = pending
    .map(({ created_at }) => Date.parse(created_at))
    .sort((left, right) => left - right)[0];
  const { all } = hosting.register;
  const uses = memoryOf(all.map(({ roots }) => roots.map(({ pid }) => pid)));
  const sessions = all.flatMap((one) => one.sessions);
  return {
    pending: pending.length,
    oldestWaitMs: oldest === undefined ? null : Math.max(0, now.getTime() - oldest),
    live: sessions.length,
    running: sessions.filter((id) => hosting.hub.live(id)?.record.state === "running").length,
    agents: all.length,
    memoryBytes: uses ? uses.reduce((sum, { bytes }) => sum + bytes, 0) : null,
    entries: await harness.ledger.size(),
    reports: await harness.reports.list(MOST_REPORTS),
    memory: process.memoryUsage(),
    compliance: hosting.protocol.compliance,
  };
}

/** The overview of the page. */
function overviewOf(measures: Measures, standing: ServerState, now: Date, version: string) {
  const { history } = measures;
  const { rss, heapUsed, external } = standing.memory;
  return {
    at: now.toISOString(),
    started_at: measures.startedAt.toISOString(),
    version,
    decisions: {
      total: measures.decisions.total,
      by_verdict: measures.decisions.by("verdict"),
      by_enforcement: measures.decisions.by("enforcement"),
      latency_ms: measures.verdicts.percentiles(RECENT_MS),
    },
    approvals: {
      pending: standing.pending,
      oldest_wait_ms: standing.oldestWaitMs,
      answered: measures.waits.count,
      wait_ms: measures.waits.percentiles(Number.POSITIVE_INFINITY),
    },
    usage: {
      turns: measures.turns.total,
      tokens: measures.tokens.total,
      cost_usd: measures.cost.total,
    },
    sessions: { live: standing.live, running: standing.running },
    processes: { agents: standing.agents, memory_bytes: standing.memoryBytes },
    agent_reports: reportsByAgent(standing.reports),
    log: { events: measures.logEvents, per_second: history.perSecond("log_events") },
    ledger: { entries: standing.entries, per_second: history.perSecond("ledger_entries") },
    requests: {
      total: measures.requests.total,
      per_second: history.perSecond("requests"),
      latency_ms: measures.requestTimes.percentiles(RECENT_MS),
    },
    event_loop_ms: measures.loop,
    memory: { rss, heap_used: heapUsed, external },
    history: history.read(),
  };
}

/** Groups reports by agent and session, the most recent first. */
function reportsByAgent(reports: readonly Report[]) {
  const byAgent = Map.groupBy(reports, ({ tenant, user, agent, session }) =>
    JSON.stringify([tenant, user, agent, session]),
  );
  return [...byAgent.values()].flatMap((all) => {
    const [first] = all;
    if (!first) return [];
    const { tenant, user, agent, session } = first;
    const kinds = all.map(({ kind, at, count, payload }) => [kind, { at, count, payload }] as const);
    return [{ tenant, user, agent, session, ...Object.fromEntries(kinds) }];
  });
}
