import type { Clock } from "@reins/kit";
import type { Draft } from "@reins/ledger";
import { change, type Store } from "@reins/store";
import { type Harness, scrubbed, type Vault } from "@reins/supervisor";
import { registerBuffer } from "../log/backlog.ts";
import { renewServers } from "./sealed-servers.ts";
import type { SessionRecord } from "./session-record.ts";
import { type SessionRange, sessionTables } from "./tables.ts";

export interface SessionRecordsOptions {
  readonly harness: Pick<Harness, "store" | "record">;
  readonly clock: Pick<Clock, "after">;
  readonly onError: (error: unknown) => void;
}

/** Holds the current record of a session. */
type RecordOwner = { readonly record: SessionRecord };

/** How long a write may be delayed to be merged with the next: in a busy session, its next turn starts within it. */
const LATER_MS = 20;
const PAGE = 100;

/** The only writer of session records. The writes of one session are committed in the order of the calls. */
export class SessionRecords {
  readonly #options: SessionRecordsOptions;
  /** Owners of records that {@link putLater} has still to write. */
  readonly #later = new Map<string, RecordOwner>();
  /** Writes with a ledger entry that are not committed yet: the ledger takes longer than a plain commit. */
  readonly #entering = new Map<string, Promise<void>>();
  /** A record never changes: its successor is another object. */
  readonly #stored = new WeakSet<SessionRecord>();
  readonly #unsubscribe: () => void;
  #cancel: (() => void) | undefined;

  constructor(options: SessionRecordsOptions) {
    this.#options = options;
    this.#unsubscribe = registerBuffer(options.harness.store, () => this.flush());
  }

  async get(id: string, tenant: string): Promise<SessionRecord | undefined> {
    const record = await this.#options.harness.store.query(sessionTables, "get", { id, tenant });
    if (record) this.#stored.add(record);
    return record;
  }

  /** The sessions of a range, in the state that they are in now. */
  async list(range: SessionRange): Promise<SessionRecord[]> {
    await this.flush();
    const records = await this.#options.harness.store.query(sessionTables, "list", range);
    for (const record of records) this.#stored.add(record);
    return records;
  }

  /** Writes a record; with an entry, both in one commit. */
  put(record: SessionRecord, entry?: Draft): Promise<void> {
    const { id } = record;
    this.#later.delete(id);
    if (!entry && this.isStored(record)) return Promise.resolve();
    const before = this.#entering.get(id);
    const write = () => this.#write(record, entry);
    const writing = before ? before.then(write) : write();
    if (!entry && !before) return writing;
    const written = writing.catch(() => undefined);
    this.#entering.set(id, written);
    void written.then(() => {
      if (this.#entering.get(id) === written) this.#entering.delete(id);
    });
    return writing;
  }

  /** Whether a read of the store finds a record. */
  isStored(record: SessionRecord): boolean {
    return this.#stored.has(record);
  }

  /** Writes the record that a session has a moment from now, unless it is written earlier. */
  putLater(session: RecordOwner): void {
    const { clock, onError } = this.#options;
    this.#later.set(session.record.id, session);
    this.#cancel ??= clock.after(LATER_MS, () => {
      this.#cancel = undefined;
      this.flush().catch(onError);
    });
  }

  /** Writes what was to be written later. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    await Promise.all([...this.#later.values()].map(({ record }) => this.put(record)));
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    await this.flush();
  }

  async #write(record: SessionRecord, entry: Draft | undefined): Promise<void> {
    await putSession(this.#options.harness, record, entry);
    this.#stored.add(record);
  }
}

/** Writes the record of a session that no {@link SessionRecords} has. */
export async function putSession(
  harness: Pick<Harness, "store" | "record">,
  record: SessionRecord,
  entry?: Draft,
): Promise<void> {
  const put = change(sessionTables, "put", record);
  if (entry) await harness.record([entry], { with: [put], durable: false });
  else await harness.store.commit([put], { durable: false });
}

/**
 * Seals MCP servers of sessions anew that were sealed with a former key, then forgets that key. To be called before a
 * session is served: it writes records that no session owns yet.
 */
export async function renewSessionSeals({
  store,
  vault,
  onError,
}: {
  readonly store: Pick<Store, "query" | "commit" | "scrub">;
  readonly vault: Vault;
  readonly onError: (error: unknown) => void;
}): Promise<void> {
  const keys = vault.formerKeys;
  if (keys.length === 0) return;
  for (let after = ""; ; ) {
    const page = await store.query(sessionTables, "sealedWithKeys", { keys, after, limit: PAGE });
    const last = page.at(-1);
    if (!last) break;
    after = last.id;
    await store.commit(page.map((record) => change(sessionTables, "put", renewServers(vault, record))));
  }
  if (await scrubbed(store, onError)) await vault.forgetFormer();
}
