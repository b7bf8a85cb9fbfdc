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

  constructor(record: SessionRecord, clients: SessionClients) {
    this.record = record;
    this.clients = clients;
  }

  get id(): string {
    return this.record.id;
  }
}
