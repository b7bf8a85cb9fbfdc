import type { Draft, Ledger } from "@reins/ledger";
import type { ControlEvent, PolicyHashes, Subject } from "@reins/policy";
import type { Unrecorded } from "../decision/decision.ts";

/** How many entries may wait; callers with more wait until there is room. */
const MAX_WAITING = 50_000;
/** How many go into one commit. */
const BATCH = 500;

/** An entry, made when it is written, and the one to write instead if that fails. */
interface Waiting {
  readonly draft: () => Draft;
  readonly otherwise: (() => Draft) | undefined;
  /** Called with its content id; `undefined` when neither could be written. */
  readonly onWritten: (cid: string | undefined) => void;
}

/** An entry that was accepted. */
export interface Buffered {
  /** Settles when there is room for more; `undefined` when there is. */
  readonly room: Promise<void> | undefined;
  /** Its content id, once it is written; `undefined` when it cannot be. Never rejects. */
  readonly written: Promise<string | undefined>;
}

/** Buffers entries of verdicts that allow nothing, which need not wait for them; writes them in order, in batches. */
export class BufferedRecords {
  readonly #ledger: Pick<Ledger, "record">;
  readonly #onError: (error: unknown) => void;
  readonly #waiting: Waiting[] = [];
  /** The entries that the ledger does not have yet, the oldest first. */
  readonly waiting: readonly unknown[] = this.#waiting;
  #writing = 0;
  #scheduled = false;
  #last: Promise<void> = Promise.resolve();
  #room: (() => void)[] = [];

  constructor(ledger: Pick<Ledger, "record">, onError: (error: unknown) => void) {
    this.#ledger = ledger;
    this.#onError = onError;
  }

  /** Accepts an entry, to be made when it is written, and one to write instead if that fails. */
  add(draft: () => Draft, otherwise?: () => Draft): Buffered {
    const { promise: written, resolve: onWritten } = Promise.withResolvers<string | undefined>();
    this.#waiting.push({ draft, otherwise, onWritten });
    this.#schedule();
    if (this.#waiting.length + this.#writing < MAX_WAITING) return { room: undefined, written };
    return { room: new Promise((resolve) => this.#room.push(resolve)), written };
  }

  /** Passes everything that waits to the ledger now, so that what is recorded next comes after it. */
  send(): void {
    while (this.#waiting.length > 0) this.#write();
  }

  /** Settles when everything is written. */
  async flush(): Promise<void> {
    this.send();
    await this.#last;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#write();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  #write(): void {
    const batch = this.#waiting.splice(0, BATCH);
    if (batch.length === 0) return;
    this.#writing += batch.length;
    const written = this.#record(batch).finally(() => {
      this.#writing -= batch.length;
      if (this.#waiting.length + this.#writing < MAX_WAITING)
        for (const resume of this.#room.splice(0)) resume();
    });
    this.#last = Promise.all([this.#last, written]).then(() => undefined);
  }

  async #record(batch: readonly Waiting[]): Promise<void> {
    try {
      const { entries } = await this.#ledger.record(
        batch.map(({ draft }) => draft()),
        { durable: false },
      );
      for (const [index, { onWritten }] of batch.entries()) onWritten(entries[index]?.cid);
    } catch (error) {
      const [only, ...more] = batch;
      // One that cannot be written must not fail the others.
      if (more.length > 0) for (const one of batch) await this.#record([one]);
      else if (only?.otherwise)
        await this.#record([{ ...only, draft: only.otherwise, otherwise: undefined }]);
      else {
        this.#onError(error);
        only?.onWritten(undefined);
      }
    }
  }
}

/** What the entry of an event that could not be decided is made from. */
interface RefusalRecord {
  readonly event: ControlEvent;
  readonly subject: Subject;
  readonly at: number;
  readonly decided: Unrecorded;
  readonly hashes: PolicyHashes | undefined;
}

/** What the entry of an event that could not be decided says: who, and why not. There are no facts. */
export function refusalPayload(record: RefusalRecord, commitment?: string): object {
  const { event, subject, at, decided, hashes } = record;
  const { verdict, reason, rule, enforcement } = decided;
  return {
    at,
    constitution_hash: hashes?.constitution_hash ?? null,
    counters: {},
    enforcement,
    event_type: event.event_type,
    facts: null,
    ...(commitment !== undefined && { payload_commitment: commitment }),
    reason,
    rule: rule ?? null,
    rules_hash: hashes?.rules_hash ?? null,
    subject,
    verdict,
  };
}

/** The longest tool name in the entry of a refusal. */
const MAX_TOOL = 200;

/** The tool that a payload names in the usual member, or an empty text. */
export function toolIn(payload: unknown): string {
  if (typeof payload !== "object" || payload === null) return "";
  const { tool_name, tool } = { tool_name: undefined, tool: undefined, ...payload };
  const name: unknown = tool_name ?? tool;
  return typeof name === "string" ? name.slice(0, MAX_TOOL).toWellFormed() : "";
}
