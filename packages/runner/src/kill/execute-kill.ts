import { realpathSync } from "node:fs";
import {
  homePrefix,
  type MarkPrefix,
  type ProcessEntry,
  type ProcessTable,
  systemTable,
} from "../process/process-table.ts";
import { sweep } from "../process/sweep.ts";
import { KillJournal, type KillOrder, type KillReport, killJournalIn } from "./journal.ts";
import type { LiveProcess, ProcessRoot } from "./kill-switch.ts";

/** The process table to work on. */
export interface KillGround {
  readonly table: ProcessTable;
  /** The prefix of the marks of every process that may be killed. */
  readonly prefix: MarkPrefix;
  readonly now: () => Date;
}

/** The shortest prefix that identifies a session. */
const SHORTEST_PREFIX = 6;

/** Completes the prefix of a session id in an order; returns the order unchanged unless exactly one session matches. */
export function exactOrder(order: KillOrder, live: readonly LiveProcess[]): KillOrder {
  const { target, tenant } = order;
  if (target.kind !== "session" || target.name.length < SHORTEST_PREFIX) return order;
  const own = live.filter((one) => tenant === null || one.tenant === tenant);
  const ids = new Set(own.flatMap(({ sessions }) => sessions).filter((id) => id.startsWith(target.name)));
  const [id] = ids;
  if (id === undefined || ids.size > 1) return order;
  return { ...order, target: { kind: "session", name: id } };
}

/** Returns the agents that match an order. */
export function targetsOf(
  { target, tenant }: KillOrder,
  live: readonly LiveProcess[],
): readonly LiveProcess[] {
  const own = tenant === null ? live : live.filter((one) => one.tenant === tenant);
  switch (target.kind) {
    case "all":
      return own;
    case "agent":
      return own.filter(({ agent }) => agent === target.name);
    case "process":
      return own.filter(({ id }) => id === target.name);
    case "session":
      return own.filter(({ sessions }) => sessions.includes(target.name));
  }
}

/**
 * Kills the processes of some agents and their descendants, and reports what the process table shows afterwards. When an
 * operator kills all, every process that carries a mark of this home is killed, known or not.
 */
export async function executeKill(
  order: KillOrder,
  targets: readonly LiveProcess[],
  { table, prefix, now }: KillGround,
): Promise<KillReport> {
  const { target, by, reason, id } = order;
  const whose = new Map<number, string | null>();
  const everything = target.kind === "all" && order.tenant === null;
  const belongs = (entry: ProcessEntry, known: ReadonlySet<number>) => {
    if (entry.pid === process.pid) return false;
    const agent = agentOf(entry, targets) ?? (known.has(entry.parent) ? whose.get(entry.parent) : undefined);
    const matches = agent !== undefined || (everything && carries(entry, prefix));
    if (matches && !whose.has(entry.pid)) whose.set(entry.pid, agent ?? null);
    return matches;
  };
  const swept = await sweep(table, belongs);
  const withAgent = ({ pid, command }: { readonly pid: number; readonly command: string }) => ({
    ...{ pid, command },
    agent: whose.get(pid) ?? null,
  });
  return {
    ...{ id, by, reason, at: now().toISOString() },
    tenant: order.tenant ?? onlyTenantOf(targets),
    target: { kind: target.kind, name: target.kind === "all" ? null : target.name },
    gone: swept.gone.map(withAgent),
    left: swept.left.map(withAgent),
    visibility: table.visibility,
    sessions: targets.flatMap(({ sessions }) => sessions),
    inside: targets.flatMap(({ pid, sessions }) => (pid === null ? sessions : [])),
  };
}

/** Returns the tenant of some agents; null if there are several or none. */
function onlyTenantOf(targets: readonly LiveProcess[]): string | null {
  const [tenant = null, ...others] = new Set(targets.map((one) => one.tenant));
  return others.length === 0 ? tenant : null;
}

/** Returns the agent that a process belongs to, by its group and marks. */
function agentOf(entry: ProcessEntry, targets: readonly LiveProcess[]): string | undefined {
  const led = targets.find(({ roots }) => roots.some(({ pid }) => entry.pid === pid || entry.group === pid));
  if (led) return led.agent;
  const { text, brand } = entry.marks();
  if (text === undefined && brand === undefined) return undefined;
  const marked = ({ mark }: ProcessRoot) => text === mark.text || brand === mark.brand;
  return targets.find(({ roots }) => roots.some(marked))?.agent;
}

function carries(entry: ProcessEntry, prefix: MarkPrefix): boolean {
  const { text, brand } = entry.marks();
  return text?.startsWith(prefix.text) === true || brand?.startsWith(prefix.brand) === true;
}

/** Kills every process that carries a mark of a home on which no Reins runs; the next start records it. */
export async function killLeftBehind(home: string, order: KillOrder): Promise<KillReport> {
  const journal = new KillJournal(killJournalIn(home));
  journal.ordered(order, new Date());
  const prefix = homePrefix(realpathSync(home));
  const report = await executeKill(order, [], { table: systemTable, prefix, now: () => new Date() });
  journal.reported(report);
  return report;
}
