import type { KeyObject } from "node:crypto";
import type { Database, TablesModule } from "@reins/store";
import { signCheckpoint } from "../checkpoint/note.ts";
import { rootOf } from "../tree/nodes.ts";
import { Appender } from "./append.ts";
import { EntryIndex } from "./entry-index.ts";
import { importEntries } from "./import.ts";
import { Meta } from "./meta.ts";
import type { PreparedEntry } from "./prepared-entry.ts";
import { openQueries } from "./queries.ts";
import { MIGRATIONS } from "./schema.ts";
import { StoredTree } from "./shelf.ts";
import type { ImportArgs } from "./tables.ts";

/** The ledger inside the store: loaded by the threads that own the database. */
const module: TablesModule = {
  migrations: MIGRATIONS,
  open(database) {
    const writer = lazily(() => openWriter(database));
    return {
      changes: {
        append: (entry: PreparedEntry) => writer().appender.append(entry),
        import: (args: ImportArgs) => importEntries(writer().appender, database, args),
        checkpoint: ({ privateKey }: { privateKey: KeyObject }) =>
          checkpoint(database, writer().tree, privateKey),
        describe: (meta: Record<string, string>) => new Meta(database).set(meta),
      },
      queries: openQueries(database),
      undone() {
        writer().tree.restore();
        writer().appender.undone();
        writer().index.restore();
      },
      chore() {
        const { index } = writer();
        return index.isDue ? () => index.update() : undefined;
      },
    };
  },
};

export default module;

function openWriter(database: Database) {
  const tree = new StoredTree(database);
  const index = new EntryIndex(database);
  index.restore();
  return { tree, index, appender: new Appender(database, tree.restore(), index) };
}

/** Makes a checkpoint of everything written, unless the last one covers it already. */
function checkpoint(database: Database, { tiles }: StoredTree, privateKey: KeyObject): string | undefined {
  const origin = new Meta(database).get("origin");
  const exists = database.prepare("SELECT size FROM ledger_checkpoints WHERE size = ?").get(tiles.size);
  if (exists || tiles.size === 0 || origin === undefined) return undefined;
  const root = rootOf(tiles.size, (level, index) => tiles.node(level, index));
  const note = signCheckpoint({ origin, size: tiles.size, root }, privateKey);
  database.prepare("INSERT INTO ledger_checkpoints (size, note) VALUES (?, ?)").run(tiles.size, note);
  return note;
}

function lazily<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
