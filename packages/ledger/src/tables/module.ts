import type { KeyObject } from "node:crypto";
import type { Database, TablesModule } from "@reins/store";
import type { PreparedEntry } from "../entry.ts";
import { Appender, EntryIndex, importEntries, StoredTree } from "./append.ts";
import { openQueries } from "./queries.ts";
import { Checkpoints, Meta, MIGRATIONS } from "./schema.ts";
import type { ImportArgs } from "./tables.ts";

/** The ledger inside the store: loaded by the threads that own the database. */
const module: TablesModule = {
  migrations: MIGRATIONS,
  open(database) {
    const writer = lazily(() => openWriter(database));
    return {
      changes: {
        append: (entry: PreparedEntry) => writer().appender.append(entry),
        import: (args: ImportArgs) => importEntries(writer(), database, args),
        checkpoint: ({ privateKey }: { privateKey: KeyObject }) => writer().checkpoints.make(privateKey),
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
  const tiles = tree.restore();
  const checkpoints = new Checkpoints(database, tiles);
  return { tree, index, checkpoints, appender: new Appender(database, tiles, index) };
}

function lazily<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
