import { realpathSync } from "node:fs";
import { CODE, RpcError } from "@reins/acp";
import type { KillOrder, KillReport, ProcessRegistry } from "@reins/runner";
import { homePrefix, type Killed, KillJournal, KillSwitch, killJournalIn } from "@reins/runner";
import type { Harness } from "@reins/supervisor";
import type { Hub } from "../hub/hub.ts";
import { recordKill, recordLeftKills } from "./record-kill.ts";

/** What ending agents stands on. */
export interface KillsOptions {
  readonly harness: Harness;
  /** Where sessions are, once they can be served. */
  readonly hub: Promise<Hub>;
  readonly register: ProcessRegistry;
  readonly onError: (error: unknown) => void;
}

/** Ends agents on somebody's word, and sees to it that the ledger knows. */
export class Kills {
  readonly #options: KillsOptions;
  readonly #switch: KillSwitch;

  private constructor(options: KillsOptions, made: KillSwitch) {
    this.#options = options;
    this.#switch = made;
  }

  /** Writes down what was ended before, and begins to listen on the socket of the home. */
  static async open(options: KillsOptions): Promise<Kills> {
    const { harness, register, onError } = options;
    const { home } = harness;
    await recordLeftKills(harness, new KillJournal(killJournalIn(home)));
    const onKilled = (report: KillReport) => note(options, report);
    const onEnding = (sessions: readonly string[]) => void callOff(options, sessions);
    const prefix = homePrefix(realpathSync(home));
    return new Kills(
      options,
      await KillSwitch.open({ home, registry: register, prefix, onEnding, onKilled, onError }),
    );
  }

  /** Carries an order out; `undefined` when nothing of it runs. */
  kill(order: KillOrder): Promise<Killed | undefined> {
    return this.#switch.kill(order);
  }

  /** Writes down the end of a session that had nothing running. */
  async nothingRan(report: KillReport): Promise<Killed> {
    return { report, entry: await note(this.#options, report) };
  }

  /** Stops to listen. */
  close(): Promise<void> {
    return this.#switch.close();
  }
}

/** What waits for an agent that is ended on somebody's word would bring it back at once. */
async function callOff({ hub: served }: KillsOptions, sessions: readonly string[]): Promise<void> {
  const hub = await served;
  const message = "the agent was killed before the prompt's turn came; prompt it again";
  for (const id of sessions) hub.live(id)?.cancelPending(new RpcError(CODE.cancelled, message));
}

/** Writes a kill down, then ends what only Reins itself can: a session for good, or the turns of an agent inside. */
async function note({ harness, hub: served, onError }: KillsOptions, report: KillReport): Promise<string> {
  const entry = await recordKill(harness, report);
  const hub = await served;
  const { target, tenant, sessions, inside, reason } = report;
  const meant = target.kind === "session" ? sessions.filter((id) => id === target.name) : [];
  const operator = harness.identity.local();
  const principal = { ...operator, tenant: tenant ?? operator.tenant };
  const how = { reason: "terminated", terminated_by: "daemon", message: reason ?? "killed" } as const;
  for (const id of meant) hub.terminate(principal, id, how).catch(onError);
  for (const sessionId of inside.filter((id) => !meant.includes(id)))
    hub.live(sessionId)?.agent?.governor.notification("session/cancel", { sessionId }).catch(onError);
  return entry;
}
