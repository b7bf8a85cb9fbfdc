import { type Clock, systemClock } from "@reins/kit";
import { recordedJson } from "@reins/ledger";
import { change, type Store } from "@reins/store";
import { type Redact, redact as redactKnown } from "../redaction/redactor.ts";
import { REPORT_KINDS, type Report, type Reporter, type ReportKind, reportTables } from "./tables.ts";

/** How many reports of a tenant are kept; the oldest go first. */
const MOST_KEPT = 1_000;
/** How much of a payload is kept, in characters. */
const MAX_PAYLOAD = 4_096;
/** How many characters of a name are kept. */
const MAX_NAME = 256;

/** Whether an event is a report of how its agent does. */
export function isReport(type: string): type is ReportKind {
  return REPORT_KINDS.some((kind) => kind === type);
}

/** What agents report of themselves: the last heartbeat, success and error of each agent in each session, and how many. */
export class Reports {
  readonly #store: Store;
  readonly #redact: Redact;
  readonly #clock: Clock;

  /** `redact` removes secrets from what is stored; by default those of known formats. */
  constructor(store: Store, redact: Redact = redactKnown, clock: Clock = systemClock) {
    this.#store = store;
    this.#redact = redact;
    this.#clock = clock;
  }

  /** Keeps a report in place of the one of its kind before. */
  async note({ tenant, user, agent, session }: Reporter, kind: ReportKind, payload: unknown): Promise<void> {
    const text = JSON.stringify(recordedJson(this.#redact(payload ?? null)));
    const report = {
      ...{ tenant, user, kind, agent: cut(agent, MAX_NAME), session: cut(session, MAX_NAME) },
      at: this.#clock.now().toISOString(),
      payload: cut(text, MAX_PAYLOAD),
    };
    const put = change(reportTables, "put", { report, most: MOST_KEPT });
    await this.#store.commit([put], { durable: false, relaxed: true });
  }

  /** The newest reports of all tenants, newest first. */
  async list(limit = MOST_KEPT): Promise<Report[]> {
    // A commit of nothing comes after those that wait.
    await this.#store.commit([], { durable: false });
    return this.#store.query(reportTables, "list", { limit });
  }

  /** Forgets reports that arrived before an instant. */
  async prune(before: Date): Promise<void> {
    const args = { before: before.toISOString() };
    await this.#store.commit([change(reportTables, "prune", args)], { durable: false });
  }
}

function cut(text: string, length: number): string {
  return text.slice(0, length).toWellFormed();
}
