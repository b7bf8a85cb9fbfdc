import {
  type Connection,
  connectionOperations,
  type RewindReport,
  rewindOperations,
  type Session,
  sessionOperations,
} from "@reins/api";
import type { Hosting, RewindOutcome, SessionRecord } from "@reins/host";
import { AutoResetEvent, type SseWriter } from "@reins/kit";
import type { Harness } from "@reins/supervisor";
import type { CurrentConnections } from "../connections/connections.ts";
import type { ConnectionRecord } from "../connections/tables.ts";
import { callerProblems, HttpProblem } from "../problems.ts";
import { type AuthorizedCall, eventText, pageOf, type Routes } from "../routes/router.ts";
import { callerOf } from "./files.ts";

const { listSessions, streamSessions, getSession } = sessionOperations;
const { listConnections, closeConnection } = connectionOperations;

/** Sessions, which can go back to before a turn, and connections. */
export function sessionRoutes(current: CurrentConnections): Routes {
  return {
    name: "sessions",
    mount(router) {
      router.handle(listSessions, async ({ query, principal, harness }) => {
        const { hosting } = await current.open(harness);
        const { items, next } = await pageOf(query.limit, (limit) =>
          hosting.hub.list(principal, { ...query, limit }),
        );
        return { sessions: await shownSessions(hosting, harness, items), next };
      });
      router.stream(streamSessions, async (call, open) => {
        const { hosting } = await current.open(call.harness);
        await streamSessionChanges(call, hosting, open);
      });
      router.handle(getSession, async ({ params: { id }, principal, harness }) => {
        const { hosting } = await current.open(harness);
        const record = await hosting.hub.find(principal, id);
        const [session] = record ? await shownSessions(hosting, harness, [record]) : [];
        if (!session) throw new HttpProblem("not_found", `there is no session ${id}`);
        return session;
      });
      router.handle(rewindOperations.listTurns, async ({ params: { id }, principal, harness }) => {
        const { hosting } = await current.open(harness);
        const caller = { principal, signal: AbortSignal.timeout(TURNS_MS) };
        const { turns, ...found } = await callerProblems(() => hosting.rewinds.turns(caller, id));
        return {
          ...found,
          turns: turns.map(({ isCut: cut, inEffect: in_effect, ...turn }) => ({ ...turn, in_effect, cut })),
        };
      });
      router.longPoll(rewindOperations.rewindSession, async (call) => {
        const { hosting } = await current.open(call.harness);
        const { dry_run: dryRun = false, files = true, force = false, turn, conversation } = call.body;
        const request = { session: call.params.id, turn, files, conversation, dryRun, force };
        const caller = callerOf({ ...call, query: {} });
        const report = await callerProblems(() => hosting.rewinds.rewind(caller, request));
        return { status: 200, text: JSON.stringify(shownReport(report)) };
      });
      router.handle(listConnections, async ({ query, principal, harness }) => {
        const connections = await current.open(harness);
        const { items, next } = await pageOf(query.limit, async (limit) => {
          const found = await connections.list(principal, { ...query, limit });
          return found.map((one) => shownConnection(one, connections.expiryOf(one.record)));
        });
        return { connections: items, next };
      });
      router.handle(closeConnection, async ({ params: { id }, principal, harness }) => {
        const connections = await current.open(harness);
        await connections.remove(id, principal);
        return undefined;
      });
    },
  };
}

/** How long the list of turns may take. */
const TURNS_MS = 30_000;
/** How long changes are debounced. */
const GATHER_MS = 200;
/** A reader that is further behind is disconnected and must list again. */
const MOST_BEHIND = 10_000;

/** Streams new and changed sessions of the caller. */
async function streamSessionChanges(
  { principal: { tenant }, harness, currentPrincipal }: AuthorizedCall,
  hosting: Hosting,
  open: () => SseWriter,
): Promise<void> {
  const { hub } = hosting;
  const changed = new Set<string>();
  const stream = open();
  const woken = new AutoResetEvent();
  const unwatch = hub.watch((record) => {
    if (record.tenant !== tenant) return;
    changed.add(record.id);
    if (changed.size > MOST_BEHIND) stream.end();
    woken.set();
  });
  stream.onKeepAlive(() => woken.set());
  stream.closed.addEventListener("abort", () => woken.set(), { once: true });
  try {
    // Ends when the token is revoked or the harness closes.
    while (!stream.closed.aborted) {
      const principal = await currentPrincipal();
      if (!principal) return;
      const ids = [...changed];
      changed.clear();
      const found = await Promise.all(ids.map((session) => hub.find(principal, session)));
      const records = found.filter((record) => record !== undefined);
      for (const session of await shownSessions(hosting, harness, records))
        if (!(await stream.send(eventText(streamSessions, session.id, session)))) return;
      await woken.wait();
      await gathered(hub.clock, stream.closed);
    }
  } finally {
    unwatch();
  }
}

/** Settles after the debounce time, or when the stream closes. */
function gathered(clock: Hosting["hub"]["clock"], closed: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = () => resolve();
  const cancel = clock.after(GATHER_MS, wake);
  closed.addEventListener("abort", wake, { once: true });
  return promise.finally(() => {
    cancel();
    closed.removeEventListener("abort", wake);
  });
}

const MOST_PENDING = 500;

/** Maps sessions of a tenant to the API, without what clients sent to start them. */
async function shownSessions(
  hosting: Hosting,
  harness: Harness,
  records: readonly SessionRecord[],
): Promise<Session[]> {
  const { hub } = hosting;
  const [first] = records;
  if (!first) return [];
  const { tenant } = first;
  const [counts, pending] = await Promise.all([
    hub.countsOf(
      tenant,
      records.map(({ id }) => id),
    ),
    harness.approvals.list({ tenant, state: "pending", limit: MOST_PENDING }),
  ]);
  return records.map((record) => {
    const { sealed_servers: _, daemon: __, turn_after: ___, asked_after: ____, ...shown } = record;
    const { tenant: _____, homes: ______, ended, ...kept } = shown;
    const { agent } = hub.live(record.id) ?? {};
    const cost = agent?.governor.session(record.id)?.cost ?? 0;
    return {
      ...kept,
      ...(ended && { ended: { ...ended } }),
      additional_directories: [...record.additional_directories],
      settings: hub.settingsOf(record.id),
      event_count: counts.get(record.id) ?? 0,
      agent_runs: agent !== undefined,
      trust: harness.policies.roster.trustOf(record.acts_as ?? record.agent),
      ...enforcementOf(hosting, record.agent),
      ...(cost > 0 && { cost_usd: cost }),
      pending_approvals: pending.filter(({ session }) => session === record.id).length,
    };
  });
}

/** The enforcement level of an agent; nothing for one that left the catalogue. */
function enforcementOf({ catalogue, host }: Hosting, agent: string): Pick<Partial<Session>, "enforcement"> {
  const entry = catalogue.entries.find(({ id }) => id === agent);
  if (!entry) return {};
  if (entry.builtIn) return { enforcement: "performed" };
  return { enforcement: host.networkFor(agent) === undefined ? entry.enforcement.level : "confined" };
}

/** Maps a connection to the API. */
function shownConnection(
  { record, streams }: { readonly record: ConnectionRecord; readonly streams: number },
  expires: Date,
): Connection {
  const { id, dialect, principal, agent, sessions, created_at, last_seen } = record;
  return {
    id,
    dialect,
    principal,
    ...(agent !== undefined && { agent }),
    sessions: Object.keys(sessions),
    streams,
    created_at,
    last_seen,
    expires_at: expires.toISOString(),
  };
}

/** Maps what became of a rewind to the API. */
function shownReport({ files, conversation, effects, isCut, ...report }: RewindOutcome): RewindReport {
  return {
    ...report,
    files: files.map((file) => ({ ...file })),
    conversation: { ...conversation },
    effects: effects.map(({ isUngated: ungated, runs, writes, hosts, ...effect }) => ({
      ...effect,
      ...{ ungated, runs: [...runs], writes: [...writes], hosts: [...hosts] },
    })),
    effects_cut: isCut,
  };
}
