import { type Clock, LruCache, systemClock } from "@reins/kit";
import { type Change, change, type Results, type Store } from "@reins/store";
import { PayloadProtection, type ProtectionOptions } from "./artifacts/private-payload.ts";
import { attested, contentOf, isAttested, prepare, SYSTEM } from "./canonical.ts";
import { verifierKey } from "./checkpoint.ts";
import type {
  AttestationOrder,
  Cid,
  Draft,
  ParentlessContent,
  PreparedEntry,
  RecordOptions,
} from "./entry.ts";
import {
  Announcements,
  announcedKeys,
  keyMismatch,
  type LedgerSigner,
  type Signers,
} from "./keys/announced-keys.ts";
import { LedgerError } from "./ledger-error.ts";
import { LedgerReader, type PlacedEntry } from "./ledger-reader.ts";
import { inTurn, Sequencer } from "./sequencer.ts";
import type { Appended } from "./tables/append.ts";
import type { EntryRange } from "./tables/queries.ts";
import { ledgerTables, type StoredCheckpoint, type StoredEntry } from "./tables/tables.ts";

/** What a ledger needs. */
interface LedgerOptions extends ProtectionOptions {
  readonly store: Store;
  readonly signers: Signers;
  /** Makes the name of a new ledger. */
  readonly newOrigin: () => string;
  readonly clock?: Clock;
  /** Called when a checkpoint could not be made; the next one covers the same entries. */
  readonly onCheckpointError?: (error: unknown) => void;
  /** Called with every new checkpoint and the key that signed it. */
  readonly onCheckpoint?: (note: string, logKey: string) => void;
}

/** How many keys are kept for signing; others are read again. */
const MOST_KEYS = 1_000;

/** The record: entries in, proofs out. */
export class Ledger extends LedgerReader {
  readonly #options: LedgerOptions;
  readonly #clock: Clock;
  readonly #announcements: Announcements;
  /** The announced keys that signed last, by holder. */
  readonly #inUse = new LruCache<string, LedgerSigner>({ entries: MOST_KEYS });
  readonly #log: LedgerSigner;
  /** Makes checkpoints; of a ledger to which several nodes write, one node's sequencer does. */
  readonly #checkpointer: Checkpointer | Sequencer;
  readonly #sequencer: Sequencer | undefined;
  readonly #mirror: boolean;
  /** Records in progress. A read waits for those that began before it, a key rotation for all. */
  readonly #recording = new Set<Promise<unknown>>();
  /** The key rotation in progress, which new records wait for. */
  #rotating: Promise<void> | undefined;
  readonly #listeners = new Set<(entries: number) => void>();

  private constructor(options: LedgerOptions, log: LedgerSigner, origin: string, logKey?: string) {
    const ownKey = verifierKey(origin, log.publicKey);
    super(options.store, origin, logKey ?? ownKey);
    this.#options = options;
    this.#log = log;
    this.#mirror = logKey !== undefined && logKey !== ownKey;
    this.#clock = options.clock ?? systemClock;
    this.#announcements = new Announcements((signer, holder) => this.#announce(signer, holder));
    if (options.store.node && !this.#mirror) this.#sequencer = this.#newSequencer();
    this.#checkpointer = this.#sequencer ?? new Checkpointer(() => this.#makeCheckpoint(), this.#clock);
  }

  #newSequencer(): Sequencer {
    return new Sequencer({
      store: this.#options.store,
      privateKey: this.#log.privateKey,
      clock: this.#clock,
      onPlaced: (entries) => this.#notify(entries),
      onCheckpoint: (note) => this.#options.onCheckpoint?.(note, this.logKey),
      onError: (error) => this.#options.onCheckpointError?.(error),
    });
  }

  /** Opens the ledger in a store; a new one gets its name and its first entry. */
  static open(options: LedgerOptions): Promise<Ledger> {
    const { store, clock } = options;
    return store.node ? inTurn(store, () => Ledger.#open(options), clock) : Ledger.#open(options);
  }

  static async #open(options: LedgerOptions): Promise<Ledger> {
    const { store, signers } = options;
    const log = await signers.logSigner();
    const origin = await store.query(ledgerTables, "meta", { name: "origin" });
    const logKey = await store.query(ledgerTables, "meta", { name: "log_key" });
    if (origin !== undefined && logKey !== undefined) {
      const ledger = new Ledger(options, log, origin, logKey);
      await ledger.#resume();
      return ledger;
    }
    const name = options.newOrigin();
    const ledger = new Ledger(options, log, name);
    await store.commit([change(ledgerTables, "describe", { origin: name, log_key: ledger.logKey })]);
    await ledger.#begin();
    return ledger;
  }

  /** Whether this is a copy of another ledger, which cannot be added to. */
  get isMirror(): boolean {
    return this.#mirror;
  }

  /** Records entries, and the changes that belong to them, in one commit. */
  record<const Changes extends readonly Change<unknown>[] = []>(
    drafts: readonly Draft[],
    options: RecordOptions<Changes> = {},
  ): Promise<{ entries: Appended[]; results: Results<Changes> }> {
    if (this.#rotating) return this.#rotating.then(() => this.record(drafts, options));
    const recording = this.#record(drafts, options);
    this.#recording.add(recording);
    const settled = () => void this.#recording.delete(recording);
    recording.then(settled, settled);
    return recording;
  }

  /** Notifies of every commit that added entries, with their number; returns `unsubscribe`. */
  subscribe(listener: (entries: number) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Entries of a range, with those that were being recorded when it was asked for. */
  override async readStored(range: EntryRange): Promise<StoredEntry[]> {
    await this.#recorded();
    await this.#sequencer?.placed();
    return super.readStored(range);
  }

  /** An entry by its content id. */
  override async get(cid: Cid): Promise<PlacedEntry | undefined> {
    const found = await super.get(cid);
    if (found || !this.#sequencer) return found;
    await this.#sequencer.placed();
    return super.get(cid);
  }

  /** Makes a new key for an actor. What the old one signed stays valid, and the ledger records when it was retired. */
  async rotateKey(holder: string): Promise<void> {
    // Other nodes may sign with a copy of the old one.
    if (this.#sequencer) throw new LedgerError("conflict", "keys are rotated by one server alone");
    while (this.#rotating) await this.#rotating;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#rotating = promise;
    try {
      await this.#recorded();
      const announce = (next: LedgerSigner) => this.#announcements.announce(next, holder);
      const { retiredKeyId } = await this.#options.signers.rotate(holder, announce);
      await this.#recordRetired(retiredKeyId);
    } finally {
      // Even a rotation that failed may have put the new key to use.
      this.#inUse.delete(holder);
      this.#rotating = undefined;
      resolve();
    }
  }

  /** Resolves when the records in progress have settled. */
  async #recorded(): Promise<void> {
    if (this.#recording.size > 0) await Promise.allSettled(this.#recording);
  }

  /** The newest checkpoint, made now if entries are not yet covered. */
  override async checkpoint(): Promise<StoredCheckpoint> {
    await this.#checkpointer.flush();
    return super.checkpoint();
  }

  /** Covers what was written with a checkpoint. The store stays open; it is the caller's. */
  async close(): Promise<void> {
    await this.#checkpointer.flush();
    await this.#sequencer?.stop();
  }

  /** The first entry announces the key of the system. */
  async #begin(): Promise<void> {
    await this.#announcements.announce(await this.#options.signers.signer(SYSTEM), SYSTEM);
  }

  async #resume(): Promise<void> {
    const { store } = this.#options;
    const { size, first, isShared } = await store.query(ledgerTables, "progress", null);
    if (isShared && !store.node) await store.commit([change(ledgerTables, "settle", null)]);
    for (const { key_id, retired } of await announcedKeys(this))
      this.#announcements.remember(key_id, retired !== null);
    if (this.#mirror) return;
    // A crash may have come between the name and the first entry.
    if (size === 0 && first === null) await this.#begin();
    await this.#assertSystemKeyKnown();
    for (const keyId of await this.#options.signers.retired()) await this.#recordRetired(keyId);
    const newest = await this.#options.store.query(ledgerTables, "checkpoint", {});
    if ((await this.size()) > (newest?.size ?? 0)) this.#checkpointer.due();
  }

  /** Only a key that the ledger knows can announce others; with another nothing it signs would ever verify. */
  async #assertSystemKeyKnown(): Promise<void> {
    const { keyId } = await this.#options.signers.signer(SYSTEM);
    if (!this.#announcements.isInUse(keyId)) throw keyMismatch(keyId, SYSTEM);
  }

  async #record<const Changes extends readonly Change<unknown>[]>(
    drafts: readonly Draft[],
    options: RecordOptions<Changes>,
  ): Promise<{ entries: Appended[]; results: Results<Changes> }> {
    if (options.later) await new Promise(setImmediate);
    const unprotected = this.#prepareUnsigned(drafts);
    const results = await (unprotected
      ? this.#commit(unprotected, options)
      : this.#commitProtected(drafts, options));
    if (drafts.length > 0) this.#added(drafts.length);
    // The store returns one result for each change, in order.
    const entries = results.slice(0, drafts.length) as Appended[];
    return { entries, results: results.slice(drafts.length) as Results<Changes> };
  }

  /** Commits entries that need a signature or a protected payload. */
  async #commitProtected(
    drafts: readonly Draft[],
    options: RecordOptions<readonly Change<unknown>[]>,
  ): Promise<readonly unknown[]> {
    let protection: PayloadProtection | undefined;
    const protect = (draft: Draft, content: ParentlessContent) => {
      protection ??= new PayloadProtection(this.#options);
      return protection.protect(draft, content);
    };
    try {
      return await this.#commit(await this.#prepare(drafts, protect), options);
    } catch (error) {
      await protection?.undo(error);
      throw error;
    }
  }

  #commit(
    appends: readonly PreparedEntry[],
    options: RecordOptions<readonly Change<unknown>[]>,
  ): Promise<readonly unknown[]> {
    const changes: Change<unknown>[] = appends.map((entry) => change(ledgerTables, "append", entry));
    if (options.with) changes.push(...options.with);
    const { durable = true, relaxed = false } = options;
    const committing = this.#options.store.commit(changes, { durable, relaxed });
    options.onPlaced?.();
    return committing;
  }

  /** The entries of drafts that need no signature and no protection, as most; else `undefined`. */
  #prepareUnsigned(drafts: readonly Draft[]): PreparedEntry[] | undefined {
    const entries: PreparedEntry[] = [];
    for (const draft of drafts) {
      if (isAttested(draft.quality)) return undefined;
      const entry = this.#plain(draft, this.#contentOf(draft));
      if (!entry) return undefined;
      entries.push(entry);
    }
    return entries;
  }

  #contentOf(draft: Draft): ParentlessContent {
    if (!this.#mirror) return contentOf(draft, this.#clock);
    throw new LedgerError("conflict", `this is a copy of the ledger ${this.origin} and cannot be added to`);
  }

  /** The entries of any drafts. A key is announced only once all of them can be entries. */
  async #prepare(drafts: readonly Draft[], protect: PayloadProtection["protect"]): Promise<PreparedEntry[]> {
    const unsigned = await settleAll(
      drafts.map(async (draft) => {
        const content = this.#contentOf(draft);
        const entry = this.#plain(draft, content) ?? prepare(await protect(draft, content));
        return { draft, entry };
      }),
    );
    return Promise.all(unsigned.map(({ draft, entry }) => this.#attest(draft, entry)));
  }

  async #attest(draft: Draft, entry: PreparedEntry): Promise<PreparedEntry> {
    if (!isAttested(entry.quality)) return entry;
    const { actor } = entry;
    const known = this.#inUse.get(actor);
    const signer = known ?? (await this.#options.signers.signer(actor));
    const signed = attested(entry, attestationBy(signer, draft));
    if (known) return signed;
    await this.#announcements.announce(signer, actor);
    this.#inUse.set(actor, signer);
    return signed;
  }

  /** The entry of a draft that has nothing to protect. */
  #plain(draft: Draft, content: ParentlessContent): PreparedEntry | undefined {
    if (draft.isPrivate) return undefined;
    const entry = prepare(content);
    return entry.body.includes('"$private":') ? undefined : entry;
  }

  /** Records the holder of a key, signed by the system; the very first key announces itself. */
  async #announce(signer: LedgerSigner, holder: string): Promise<void> {
    const system = await this.#options.signers.signer(SYSTEM);
    if (system.keyId !== signer.keyId) await this.#announcements.announce(system, SYSTEM);
    const { keyId: key_id, publicKey } = signer;
    const public_key = Buffer.from(publicKey).toString("base64");
    const entry = this.#keyEntry(system, holder, { change: "key_added", key_id, holder, public_key });
    await this.#options.store.commit([change(ledgerTables, "announce", { key_id, entry })]);
    this.#added(1);
  }

  /** Records that a key is retired, unless the ledger knows that, or never knew the key. */
  async #recordRetired(keyId: string): Promise<void> {
    if (!this.#announcements.isInUse(keyId)) return;
    const system = await this.#options.signers.signer(SYSTEM);
    const entry = this.#keyEntry(system, keyId, { change: "key_retired", key_id: keyId });
    await this.#options.store.commit([change(ledgerTables, "append", entry)]);
    this.#added(1);
    this.#announcements.remember(keyId, true);
  }

  #keyEntry(system: LedgerSigner, target: string, payload: object): PreparedEntry {
    const draft: Draft = { quality: "policy_change", actor: SYSTEM, target, tags: ["key"], payload };
    return attested(prepare(contentOf(draft, this.#clock)), attestationBy(system, draft));
  }

  #added(entries: number): void {
    this.#checkpointer.due();
    if (!this.#sequencer) this.#notify(entries);
  }

  #notify(entries: number): void {
    for (const listener of this.#listeners) listener(entries);
  }

  async #makeCheckpoint(): Promise<boolean> {
    try {
      const { privateKey } = this.#log;
      const made = change(ledgerTables, "checkpoint", { privateKey });
      const [note] = await this.#options.store.commit([made]);
      if (note !== undefined) this.#options.onCheckpoint?.(note, this.logKey);
      return true;
    } catch (error) {
      this.#options.onCheckpointError?.(error);
      return false;
    }
  }
}

function attestationBy({ keyId, privateKey }: LedgerSigner, draft: Draft): AttestationOrder {
  const { rules_checked = [], predicate_results = [] } = draft;
  return { key_id: keyId, privateKey, rules_checked, predicate_results };
}

/** New entries are covered by a checkpoint within this time, with room to spare for writing it. */
const DELAY_MS = 50;

/** Makes a checkpoint shortly after new entries; many entries share one. */
export class Checkpointer {
  readonly #make: () => Promise<boolean>;
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;
  /** Whether there are entries that no checkpoint covers. */
  #owed = false;
  #making: Promise<void> = Promise.resolve();

  /** `make` returns whether it made one; if not, the next flush tries again. */
  constructor(make: () => Promise<boolean>, clock: Clock) {
    this.#make = make;
    this.#clock = clock;
  }

  /** Schedules a checkpoint for new entries. */
  due(): void {
    this.#owed = true;
    this.#cancel ??= this.#clock.after(DELAY_MS, () => void this.flush());
  }

  /** Makes the checkpoint that is due, if any, and waits for those in progress. */
  flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#owed) this.#making = this.#making.then(() => this.#pay());
    this.#owed = false;
    return this.#making;
  }

  async #pay(): Promise<void> {
    if (!(await this.#make())) this.#owed = true;
  }
}

/** All results, or the first failure once every one has settled: none writes anything after that. */
async function settleAll<Result>(running: readonly Promise<Result>[]): Promise<Result[]> {
  await Promise.allSettled(running);
  return Promise.all(running);
}
