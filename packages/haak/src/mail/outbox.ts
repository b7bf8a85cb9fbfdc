import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { type Clock, systemClock } from "@reins/kit";
import { policyFiles } from "@reins/supervisor";
import { MAIL_LIMITS, type MailLimits } from "./limits.ts";
import { MailFile } from "./mail-file.ts";
import { type OutgoingMessage, outgoingLine } from "./outgoing.ts";

/** What sending stands on. No database is needed, so any process can send. */
export interface OutboxOptions {
  readonly home: string;
  /** Whose agents write to each other here. */
  readonly tenant: string;
  readonly clock?: Pick<Clock, "now">;
  readonly newId?: () => string;
  readonly limits?: Partial<MailLimits>;
}

/** Where messages are sent from. */
export class Outbox {
  protected readonly file: MailFile;
  protected readonly limits: MailLimits;
  protected readonly clock: Pick<Clock, "now">;
  readonly #newId: () => string;

  constructor({ home, tenant, clock = systemClock, newId = randomUUID, limits }: OutboxOptions) {
    this.limits = { ...MAIL_LIMITS, ...limits };
    this.clock = clock;
    this.#newId = newId;
    const path = join(dirname(policyFiles(home, tenant).rules), "agent-mailbox.jsonl");
    this.file = new MailFile(path, this.limits);
  }

  /** Sends a message, durably. */
  async send(message: OutgoingMessage): Promise<void> {
    const stamp = { id: this.#newId(), timestamp: this.clock.now().toISOString() };
    await this.file.append(outgoingLine(message, stamp, this.limits));
  }
}
