import { type Change, change, type Results, type Store } from "@reins/store";
import { Announcements } from "./announcements.ts";
import type { ArtifactStore } from "./artifacts/artifact-store.ts";
import { withhold } from "./artifacts/withhold.ts";
import { Checkpointer } from "./checkpoint/checkpointer.ts";
import { verifierKey } from "./checkpoint/note.ts";
import { type Clock, systemClock } from "./clock.ts";
import { contentOf, type Draft } from "./entry/draft.ts";
import { SYSTEM } from "./entry/entry.ts";
import { SEALED_PAYLOAD } from "./entry/envelope.ts";
import { isAttested } from "./entry/quality.ts";
import { Gate } from "./gate.ts";
import { LedgerError } from "./ledger-error.ts";
import { LedgerReader } from "./ledger-reader.ts";
import type { Audiences } from "./seal/audiences.ts";
import type { LedgerSigner, Signers } from "./signers.ts";
import type { Appended } from "./tables/append.ts";
import type { EntryRange } from "./tables/filter.ts";
import {
  type AttestationOrder,
  type ParentlessContent,
  type PreparedEntry,
  prepare,
} from "./tables/prepared-entry.ts";
import { ledgerTables, type StoredCheckpoint, type StoredEntry } from "./tables/tables.ts";

/** What a ledger stands on. */
export interface LedgerOptions {
  readonly store: Store;
  readonly signers: Signers;
  /** Makes the name of a new ledger. */
  readonly newOrigin: () => string;
  readonly clock?: Clock;
  /** Seals what is for an audience only. */
  readonly audiences?: Pick<Audiences, "seal">;
  /** Keeps what is private. */
  readonly artifacts?: ArtifactStore;
  /** Told when a checkpoint could not be made; the next one covers the same entries. */
  readonly onCheckpointError?: (error: unknown) => void;
}

/** How to record. */
export interface RecordOptions<Changes extends readonly Change<unknown>[]> {
  /** Changes of other tables that belong to the same commit. */
  readonly with?: Changes;
  /** Whether it must survive a power cut; by default it must. */
  readonly durable?: boolean;
  /** Whether nobody waits for it but who reads the ledger: it is made when the event loop has come to its end. */
  readonly relaxed?: boolean;
  /** Told when its place is taken: what is recorded from then on comes after it. */
  readonly onPlaced?: () => void;
}

/** The record: entries in, proofs out. */
export class Ledger extends LedgerReader {
  readonly #options: LedgerOptions;
  readonly #clock: Clock;
  readonly #announcements: Announcements;
  readonly #checkpointer: Checkpointer;
  readonly #mirror: boolean;
  readonly #gate = new Gate();
  readonly #listeners = new Set<(entries: number) => void>();

  private constructor(options: LedgerOptions, origin: string, logKey: string, mirror: boolean) {
    super(options.store, origin, logKey);
    this.#options = options;
    this.#mirror = mirror;
    this.#clock = options.clock ?? systemClock;
    this.#announcements = new Announcements((signer, holder) => this.#announce(signer, holder));
    this.#checkpointer = new Checkpointer(() => this.#makeCheckpoint(), this.#clock);
  }

  /** Opens the ledger in a store; a new one gets its name and its first entry. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const { store, signers } = options;
    const log = await signers.logSigner();
    const origin = await store.query(ledgerTables, "meta", { name: "origin" });
    const logKey = await store.query(ledgerTables, "meta", { name: "log_key" });
    if (origin !== undefined && logKey !== undefined) {
      const ledger = new Ledger(options, origin, logKey, logKey !== verifierKey(origin, log.publicKey));
      await ledger.#resume();
      return ledger;
    }
    const name = options.newOrigin();
    const ledger = new Ledger(options, name, verifierKey(name, log.publicKey), false);
    await store.commit([change(ledgerTables, "describe", { origin: name, log_key: ledger.logKey })]);
    await ledger.#begin();
    return ledger;
  }

  /** Whether this is a copy of somebody else's ledger, which cannot be added to. */
  get isMirror(): boolean {
    return this.#mirror;
  }

  /** Records entries, and whatever changes belong with them, in one commit. */
  record<const Changes extends readonly Change<unknown>[] = []>(
    drafts: readonly Draft[],
    options: RecordOptions<Changes> = {},
  ): Promise<{ entries: Appended[]; results: Results<Changes> }> {
    return this.#gate.pass(() => this.#record(drafts, options));
  }

  /** Tells of every commit that added entries, and how many; the returned function ends that. */
  subscribe(listener: (entries: number) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Entries of a range, with those that were being recorded when it was asked for. */
  override async readStored(range: EntryRange): Promise<StoredEntry[]> {
    await this.#gate.left();
    return super.readStored(range);
  }

  /** Gives an actor a new key; what the old one signed stays valid, and the ledger says when it stopped. */
  rotateKey(holder: string): Promise<void> {
    return this.#gate.alone(async () => {
      const announce = (next: LedgerSigner) => this.#announcements.announce(next, holder);
      await this.#recordRetired(await this.#options.signers.rotate(holder, announce));
    });
  }

  /** The newest checkpoint, made now if entries are not yet covered. */
  override async checkpoint(): Promise<StoredCheckpoint> {
    await this.#checkpointer.flush();
    return super.checkpoint();
  }

  /** Covers what was written with a checkpoint. The store stays open; it is the caller's. */
  async close(): Promise<void> {
    await this.#checkpointer.flush();
  }

  /** The first entry announces the key of the system. */
  async #begin(): Promise<void> {
    await this.#announcements.announce(await this.#options.signers.signer(SYSTEM), SYSTEM);
  }

  async #resume(): Promise<void> {
    for (let after = -1; ; ) {
      const page = await this.read({ tag: "key", after, limit: 1_000 });
      for (const { seq, entry } of page) {
        this.#announcements.remember(entry.payload);
        after = seq;
      }
      if (page.length < 1_000) break;
    }
    if (this.#mirror) return;
    // One that was named and came no further before the process died is begun now.
    if ((await this.size()) === 0) await this.#begin();
    for (const keyId of await this.#options.signers.retired()) {
      if (this.#announcements.isInUse(keyId)) await this.#recordRetired(keyId);
    }
    const newest = await this.#options.store.query(ledgerTables, "checkpoint", {});
    if ((await this.size()) > (newest?.size ?? 0)) this.#checkpointer.due();
  }

  async #record<const Changes extends readonly Change<unknown>[]>(
    drafts: readonly Draft[],
    options: RecordOptions<Changes>,
  ): Promise<{ entries: Appended[]; results: Results<Changes> }> {
    if (options.relaxed) await new Promise(setImmediate);
    const kept: string[] = [];
    try {
      const appends =
        this.#preparedAtOnce(drafts) ??
        (await Promise.all(drafts.map((draft) => this.#prepare(draft, kept))));
      const changes: Change<unknown>[] = appends.map((entry) => change(ledgerTables, "append", entry));
      if (options.with) changes.push(...options.with);
      const committing = this.#options.store.commit(changes, { durable: options.durable ?? true });
      options.onPlaced?.();
      const results = await committing;
      if (appends.length > 0) this.#added(appends.length);
      // The store gives one result for each change, in order.
      const entries = results.slice(0, appends.length) as Appended[];
      return { entries, results: results.slice(appends.length) as Results<Changes> };
    } catch (error) {
      await Promise.allSettled(kept.map((digest) => this.#options.artifacts?.erase(digest)));
      throw error;
    }
  }

  /** The entries of drafts of which nobody has to sign and nothing has to be concealed, as of most; else `undefined`. */
  #preparedAtOnce(drafts: readonly Draft[]): PreparedEntry[] | undefined {
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

  async #prepare(draft: Draft, kept: string[]): Promise<PreparedEntry> {
    const content = this.#contentOf(draft);
    const entry =
      this.#plain(draft, content) ?? prepare(await this.#conceal(draft, content, kept), undefined);
    if (!isAttested(content.quality)) return entry;
    const signer = await this.#options.signers.signer(content.actor);
    await this.#announcements.announce(signer, content.actor);
    return { ...entry, attestation: attestationBy(signer, draft) };
  }

  /** The entry of a draft that has nothing to conceal, as most have. */
  #plain(draft: Draft, content: ParentlessContent): PreparedEntry | undefined {
    if (draft.isPrivate || draft.audience !== undefined) return undefined;
    const entry = prepare(content, undefined);
    return entry.body.includes('"$private":') ? undefined : entry;
  }

  /** Takes out what is private and seals what is for an audience. */
  async #conceal(draft: Draft, content: ParentlessContent, kept: string[]): Promise<ParentlessContent> {
    const { artifacts, audiences } = this.#options;
    let { payload } = content;
    if (!artifacts && (draft.isPrivate || draft.audience === undefined)) {
      throw new LedgerError("invalid", "this ledger has no place for private content");
    }
    if (artifacts) {
      const withheld = await withhold(artifacts, payload, draft.isPrivate ?? (() => false));
      kept.push(...withheld.artifacts.map(({ digest }) => digest));
      payload = withheld.payload;
    }
    if (draft.audience === undefined) return { ...content, payload };
    if (!audiences) throw new LedgerError("invalid", "this ledger knows no audiences");
    return {
      ...content,
      payload: SEALED_PAYLOAD,
      envelope: await audiences.seal(payload, draft.audience, content),
    };
  }

  /** Records that a key belongs to somebody, signed by the system; the very first key announces itself. */
  async #announce(signer: LedgerSigner, holder: string): Promise<void> {
    const system = await this.#options.signers.signer(SYSTEM);
    if (system.keyId !== signer.keyId) await this.#announcements.announce(system, SYSTEM);
    const public_key = Buffer.from(signer.publicKey).toString("base64");
    await this.#recordKey(system, holder, { change: "key_added", key_id: signer.keyId, holder, public_key });
  }

  async #recordRetired(keyId: string): Promise<void> {
    const system = await this.#options.signers.signer(SYSTEM);
    const payload = { change: "key_retired", key_id: keyId };
    await this.#recordKey(system, keyId, payload);
    this.#announcements.remember(payload);
  }

  async #recordKey(system: LedgerSigner, target: string, payload: object): Promise<void> {
    const draft: Draft = { quality: "policy_change", actor: SYSTEM, target, tags: ["key"], payload };
    const entry = prepare(contentOf(draft, this.#clock), attestationBy(system, draft));
    await this.#options.store.commit([change(ledgerTables, "append", entry)]);
    this.#added(1);
  }

  #added(entries: number): void {
    this.#checkpointer.due();
    for (const listener of this.#listeners) listener(entries);
  }

  async #makeCheckpoint(): Promise<void> {
    try {
      const { privateKey } = await this.#options.signers.logSigner();
      await this.#options.store.commit([change(ledgerTables, "checkpoint", { privateKey })]);
    } catch (error) {
      this.#options.onCheckpointError?.(error);
    }
  }
}

function attestationBy({ keyId, privateKey }: LedgerSigner, draft: Draft): AttestationOrder {
  const { rules_checked = [], predicate_results = [] } = draft;
  return { key_id: keyId, privateKey, rules_checked, predicate_results };
}
