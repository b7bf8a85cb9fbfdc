import type { KeyObject } from "node:crypto";
import { type Change, change, type Results, type Store } from "@reins/store";
import { Announcements } from "./announcements.ts";
import { Checkpointer } from "./checkpoint/checkpointer.ts";
import { verifierKey } from "./checkpoint/note.ts";
import { type Clock, systemClock } from "./clock.ts";
import { contentOf, type Draft } from "./entry/draft.ts";
import { SYSTEM } from "./entry/entry.ts";
import { isAttested } from "./entry/quality.ts";
import { LedgerError } from "./ledger-error.ts";
import { LedgerReader } from "./ledger-reader.ts";
import type { Appended } from "./tables/append.ts";
import { type PreparedEntry, prepare } from "./tables/prepared-entry.ts";
import { ledgerTables, type StoredCheckpoint } from "./tables/tables.ts";

/** A key that signs, as the ledger needs it. */
export interface LedgerSigner {
  readonly keyId: string;
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
}

/** Whoever holds the keys. */
export interface Signers {
  /** The key of an actor, made on first use. */
  signer(holder: string): Promise<LedgerSigner>;
  /** The key that signs checkpoints. */
  logSigner(): Promise<LedgerSigner>;
  /** Gives an actor a new key. */
  rotate(holder: string): Promise<{ readonly retiredKeyId: string }>;
}

/** What a ledger stands on. */
export interface LedgerOptions {
  readonly store: Store;
  readonly signers: Signers;
  /** Makes the name of a new ledger. */
  readonly newOrigin: () => string;
  readonly clock?: Clock;
  /** Told when a checkpoint could not be made; the next one covers the same entries. */
  readonly onCheckpointError?: (error: unknown) => void;
}

/** How to record. */
export interface RecordOptions<Changes extends readonly Change<unknown>[]> {
  /** Changes of other tables that belong to the same commit. */
  readonly with?: Changes;
  /** Whether it must survive a power cut; by default it must. */
  readonly durable?: boolean;
}

/** The record: entries in, proofs out. */
export class Ledger extends LedgerReader {
  readonly #options: LedgerOptions;
  readonly #clock: Clock;
  readonly #announcements: Announcements;
  readonly #checkpointer: Checkpointer;
  readonly #mirror: boolean;

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
    await ledger.#announcements.announce(await signers.signer(SYSTEM), SYSTEM);
    return ledger;
  }

  /** Whether this is a copy of somebody else's ledger, which cannot be added to. */
  get isMirror(): boolean {
    return this.#mirror;
  }

  /** Records entries, and whatever changes belong with them, in one commit. */
  async record<const Changes extends readonly Change<unknown>[] = []>(
    drafts: readonly Draft[],
    options: RecordOptions<Changes> = {},
  ): Promise<{ entries: Appended[]; results: Results<Changes> }> {
    const appends = await Promise.all(drafts.map((draft) => this.#prepare(draft)));
    const changes = [
      ...appends.map((entry) => change(ledgerTables, "append", entry)),
      ...(options.with ?? []),
    ];
    const results = await this.#options.store.commit(changes, { durable: options.durable ?? true });
    if (appends.length > 0) this.#checkpointer.due();
    const entries = results.slice(0, appends.length) as Appended[];
    return { entries, results: results.slice(appends.length) as Results<Changes> };
  }

  /** Gives an actor a new key; what the old one signed stays valid, and the ledger says when it stopped. */
  async rotateKey(holder: string): Promise<void> {
    const { retiredKeyId } = await this.#options.signers.rotate(holder);
    const signer = await this.#options.signers.signer(holder);
    await this.#announcements.announce(signer, holder);
    const payload = { change: "key_retired", key_id: retiredKeyId };
    await this.record([{ quality: "policy_change", actor: SYSTEM, target: holder, tags: ["key"], payload }]);
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

  async #resume(): Promise<void> {
    for (let after = -1; ; ) {
      const page = await this.read({ tag: "key", after, limit: 1_000 });
      for (const { seq, entry } of page) {
        this.#announcements.remember(entry.payload);
        after = seq;
      }
      if (page.length < 1_000) break;
    }
    const newest = await this.#options.store.query(ledgerTables, "checkpoint", {});
    if (!this.#mirror && (await this.size()) > (newest?.size ?? 0)) this.#checkpointer.due();
  }

  async #prepare(draft: Draft): Promise<PreparedEntry> {
    if (this.#mirror)
      throw new LedgerError("conflict", `this is a copy of the ledger ${this.origin} and cannot be added to`);
    const content = contentOf(draft, this.#clock);
    if (!isAttested(content.quality)) return prepare(content, undefined);
    const signer = await this.#options.signers.signer(content.actor);
    await this.#announcements.announce(signer, content.actor);
    return prepare(content, {
      key_id: signer.keyId,
      privateKey: signer.privateKey,
      rules_checked: draft.rules_checked ?? [],
      predicate_results: draft.predicate_results ?? [],
    });
  }

  /** Records that a key belongs to somebody; signed by the system's own key, which announces itself. */
  async #announce(signer: LedgerSigner, holder: string): Promise<void> {
    const system = holder === SYSTEM ? signer : await this.#options.signers.signer(SYSTEM);
    if (holder !== SYSTEM) await this.#announcements.announce(system, SYSTEM);
    const payload = {
      change: "key_added",
      key_id: signer.keyId,
      holder,
      public_key: Buffer.from(signer.publicKey).toString("base64"),
    };
    const content = contentOf(
      { quality: "policy_change", actor: SYSTEM, target: holder, tags: ["key"], payload },
      this.#clock,
    );
    const order = {
      key_id: system.keyId,
      privateKey: system.privateKey,
      rules_checked: [],
      predicate_results: [],
    };
    await this.#options.store.commit([change(ledgerTables, "append", prepare(content, order))]);
    this.#checkpointer.due();
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
