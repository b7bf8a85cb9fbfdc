import { realpathSync } from "node:fs";
import { CODE, RpcError } from "@reins/acp";
import type { Draft } from "@reins/ledger";
import {
  homePrefix,
  type Killed,
  KillJournal,
  type KillOrder,
  type KillReport,
  KillSwitch,
  killJournalIn,
  type ProcessRegistry,
  type UnrecordedKill,
} from "@reins/runner";
import { type Harness, sessionKey } from "@reins/supervisor";
import type { Hub } from "../hub/hub.ts";
import { sessionTables } from "../sessions/tables.ts";

export interface KillsOptions {
  readonly harness: Harness;
  /** The hub, once it is open: the socket listens earlier. */
  readonly hub: Promise<Hub>;
  readonly register: ProcessRegistry;
  /** Called before the agents of sessions are killed: ends what the sessions do without an agent. */
  readonly onEnding?: ((sessions: readonly string[]) => void) | undefined;
  readonly onError: (error: unknown) => void;
}

/** Kills agents on an operator's order, and records each kill in the ledger. */
export class Kills {
  readonly #options: KillsOptions;
  readonly #switch: KillSwitch;

  private constructor(options: KillsOptions, made: KillSwitch) {
    this.#options = options;
    this.#switch = made;
  }

  /** Records earlier kills, and listens on the socket of the home. */
  static async open(options: KillsOptions): Promise<Kills> {
    const { harness, register: registry, onError } = options;
    const { home } = harness;
    await recordLeftKills(harness, new KillJournal(killJournalIn(home)));
    const onKilled = (report: KillReport) => concludeKill(options, report);
    const onEnding = (sessions: readonly string[]) => {
      options.onEnding?.(sessions);
      void cancelPrompts(options, sessions);
    };
    const prefix = homePrefix(realpathSync(home));
    return new Kills(options, await KillSwitch.open({ home, registry, prefix, onEnding, onKilled, onError }));
  }

  /** Carries an order out; `undefined` when nothing of it runs. */
  kill(order: KillOrder): Promise<Killed | undefined> {
    return this.#switch.kill(order);
  }

  /** Records the kill of a session that had nothing running. */
  async nothingRan(report: KillReport): Promise<Killed> {
    return { report, entry: await concludeKill(this.#options, report) };
  }

  /** Resolves when `onEnding` was called for whatever an order has ended so far. */
  caughtUp(): Promise<void> {
    return this.#switch.caughtUp();
  }

  /** Stops listening. */
  close(): Promise<void> {
    return this.#switch.close();
  }
}

/** Cancels the prompts that wait for an agent that is killed: they would start it again at once. */
async function cancelPrompts({ hub: opening }: KillsOptions, sessions: readonly string[]): Promise<void> {
  const hub = await opening;
  const message = "the agent was killed before the prompt's turn came; prompt it again";
  for (const id of sessions) hub.live(id)?.cancelPending(new RpcError(CODE.cancelled, message));
}

/** Records a kill, then ends what only Reins itself can: a session for good, or the turns of an agent inside. */
async function concludeKill(
  { harness, hub: opening, onError }: KillsOptions,
  report: KillReport,
): Promise<string> {
  const entry = await recordKill(harness, report);
  const hub = await opening;
  const { target, tenant, sessions, inside, reason } = report;
  const ended = target.kind === "session" ? sessions.filter((id) => id === target.name) : [];
  const operator = harness.identity.local();
  const principal = { ...operator, tenant: tenant ?? operator.tenant };
  const how = { reason: "terminated", terminated_by: "daemon", message: reason ?? "killed" } as const;
  for (const id of ended) hub.terminate(principal, id, how).catch(onError);
  for (const sessionId of inside.filter((id) => !ended.includes(id)))
    hub.live(sessionId)?.agent?.governor.notification("session/cancel", { sessionId }).catch(onError);
  return entry;
}

/** The tag of the entry about an order. */
function tagOf(id: string): string {
  return `kill:${id}`;
}

/** Records a kill in the chain of the session it was about, else in the system's. Returns the entry's id. */
async function recordKill(
  harness: Harness,
  report: KillReport,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { id, by, target, gone, left, visibility, sessions, inside, reason, at } = report;
  const chain = await chainOf(harness, report);
  const draft: Draft = {
    quality: "kill",
    actor: by,
    target: target.name ?? "*",
    ...(chain !== undefined && { entity_id: chain }),
    tags: ["kill", target.kind, tagOf(id)],
    payload: { target, at, reason, gone, left, visibility, sessions, inside, ...more },
  };
  const { entries } = await harness.record([draft]);
  return entries[0]?.cid ?? "";
}

/** Records the kills that an earlier run could not, and those while none ran. */
export async function recordLeftKills(harness: Harness, journal: KillJournal): Promise<void> {
  for (const kill of journal.unrecorded()) {
    const [known] = await harness.ledger.read({ tag: tagOf(kill.order.id), limit: 1 });
    const outcome = kill.report ? {} : { outcome: "unknown" };
    if (!known) await recordKill(harness, kill.report ?? unknownEnd(kill), { late: true, ...outcome });
    // One by one, because another order may come meanwhile.
    journal.recorded(kill.order.id);
  }
  journal.forgetRecorded();
}

/** The report of an order that may have been carried out, or only in part. */
function unknownEnd({ order, at }: UnrecordedKill): KillReport {
  const { target, tenant, by, reason, id } = order;
  return {
    ...{ id, tenant, by, reason, at },
    target: { kind: target.kind, name: target.kind === "all" ? null : target.name },
    ...{ gone: [], left: [], visibility: "group", sessions: [], inside: [] },
  };
}

async function chainOf({ store }: Harness, { target, tenant }: KillReport): Promise<string | undefined> {
  const { kind, name: id } = target;
  if (kind !== "session" || id === null || tenant === null) return undefined;
  const record = await store.query(sessionTables, "get", { id, tenant });
  return record && sessionKey({ agent: record.agent, tenant, session: id, session_key: record.key });
}
