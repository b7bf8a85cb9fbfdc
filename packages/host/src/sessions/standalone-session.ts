import type { Draft } from "@reins/ledger";
import type { Harness } from "@reins/supervisor";
import type { Clients, SessionPort } from "../control/ask-clients.ts";
import type { SessionRecord } from "./session-record.ts";
import { type AcceptedChanges, transition } from "./session-state.ts";
import { putSession } from "./sessions.ts";

/** The owner of a session that no hub serves: it stores the record when the session starts, and never again. */
export class StandaloneSession implements SessionPort {
  readonly clients: Clients;
  readonly #harness: Pick<Harness, "store" | "record">;
  #record: SessionRecord;

  constructor(harness: Pick<Harness, "store" | "record">, record: SessionRecord, clients: Clients) {
    this.#harness = harness;
    this.#record = record;
    this.clients = clients;
  }

  get record(): SessionRecord {
    return this.#record;
  }

  async started(changes: AcceptedChanges, entry: Draft): Promise<void> {
    const starting = { phase: "starting", record: this.#record } as const;
    this.#record = transition(starting, { type: "accepted", changes }, new Date().toISOString()).record;
    await putSession(this.#harness, this.#record, { entry });
  }

  async modeSet(agent_mode: string): Promise<void> {
    this.#record = { ...this.#record, agent_mode };
  }

  async stopped(entry: Draft): Promise<void> {
    await this.#harness.record([entry], { durable: false });
  }
}
