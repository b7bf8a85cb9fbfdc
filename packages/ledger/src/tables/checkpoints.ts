import type { KeyObject } from "node:crypto";
import type { Database, Statement } from "@reins/store";
import { signCheckpoint } from "../checkpoint/note.ts";
import { rootOf } from "../tree/nodes.ts";
import type { Tiles } from "../tree/tiles.ts";
import { Meta } from "./meta.ts";

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
    const root = rootOf(size, (level, index) => this.#tiles.node(level, index));
    const note = signCheckpoint({ origin, size, root }, privateKey);
    this.#insert.run(size, note);
    return note;
  }
}
