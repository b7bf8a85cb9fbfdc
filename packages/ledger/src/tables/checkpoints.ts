import type { KeyObject } from "node:crypto";
import type { Database, Statement } from "@reins/store";
import { readCheckpoint, signCheckpoint } from "../checkpoint.ts";
import { LedgerError } from "../ledger-error.ts";
import { rootOf } from "../tree/merkle.ts";
import type { Tiles } from "../tree/tiles.ts";
import type { StoredCheckpoint } from "./tables.ts";

/** What the ledger knows about itself: `origin`, `log_key`, `mirror`. */
export class Meta {
  readonly #read: Statement;
  readonly #write: Statement;

  constructor(database: Database) {
    this.#read = database.prepare("SELECT value FROM ledger_meta WHERE name = ?");
    this.#write = database.prepare("INSERT OR REPLACE INTO ledger_meta (name, value) VALUES (?, ?)");
  }

  /** The value of a name. */
  get(name: string): string | undefined {
    const row = this.#read.get(name);
    return typeof row === "object" && row !== null && "value" in row ? String(row.value) : undefined;
  }

  /** Sets values; the others stay. */
  set(values: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(values)) this.#write.run(name, value);
  }
}

/** Makes the checkpoints of a ledger. */
export class Checkpoints {
  readonly #tiles: Tiles;
  readonly #meta: Meta;
  readonly #find: Statement;
  readonly #insert: Statement;

  constructor(database: Database, tiles: Tiles) {
    this.#tiles = tiles;
    this.#meta = new Meta(database);
    this.#find = database.prepare("SELECT size FROM ledger_checkpoints WHERE size = ?");
    this.#insert = database.prepare("INSERT INTO ledger_checkpoints (size, note) VALUES (?, ?)");
  }

  /** Makes one of everything written, unless the last one covers it already. */
  make(privateKey: KeyObject): string | undefined {
    const { size } = this.#tiles;
    const origin = this.#meta.get("origin");
    if (size === 0 || origin === undefined || this.#find.get(size)) return undefined;
    const note = signCheckpoint({ origin, size, root: this.#rootOf(size) }, privateKey);
    this.#insert.run(size, note);
    return note;
  }

  /** Keeps one that was made elsewhere, if it is of these very entries. */
  keep({ size, note }: StoredCheckpoint): void {
    if (size > this.#tiles.size || Buffer.compare(this.#rootOf(size), readCheckpoint(note).root) !== 0) {
      const text = `the first ${size} entries are not those that the checkpoint behind them was made of`;
      throw new LedgerError("corrupt", text);
    }
    if (!this.#find.get(size)) this.#insert.run(size, note);
  }

  #rootOf(size: number): Uint8Array {
    return rootOf(size, (level, index) => this.#tiles.node(level, index));
  }
}
