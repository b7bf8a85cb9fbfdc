import type { HostedAgent } from "../hosting/agent-host.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { SessionClients } from "./session-clients.ts";
import { TurnQueue } from "./turn-queue.ts";

/** A session that this process serves: its clients, its queue, and the agent behind it while one runs. */
export class LiveSession {
  record: SessionRecord;
  readonly clients: SessionClients;
  readonly queue = new TurnQueue();
  /** The agent that knows the session; none after it ended, until the next prompt. */
  agent: HostedAgent | undefined;

  /** What the agent answered when it took the session up. */
  result: unknown;
  /** What a new agent has to be told before its first prompt, because it cannot take the session up by itself. */
  preface: string | undefined;
  readonly #lastOrder: () => number;

  constructor(record: SessionRecord, clients: SessionClients, lastOrder: () => number) {
    this.record = record;
    this.#lastOrder = lastOrder;
    this.clients = clients;
  }

  /** The place of its last message in the log. */
  get lastOrder(): number {
    return this.#lastOrder();
  }

  get id(): string {
    return this.record.id;
  }
}
