import type { KeyObject } from "node:crypto";
import type { Database, OpenTables, TablesModule } from "@reins/store";
import type { PreparedEntry } from "../entry.ts";
import { LedgerError } from "../ledger-error.ts";
import { Appender, EntryIndex, importEntries, StoredTree } from "./append.ts";
import { Intake, Placement } from "./intake.ts";
import { openQueries } from "./queries.ts";
import { Checkpoints, Meta, MIGRATIONS } from "./schema.ts";
import type { Announcement, ImportArgs } from "./tables.ts";

/** The ledger inside the store: loaded by the threads that own the database. */
const module: TablesModule = {
  migrations: MIGRATIONS,
  open: (database) => {
    const queries = openQueries(database);
    return database.isShared ? { ...openShared(database), queries } : { ...openAlone(database), queries };
  },
};

export default module;

/** The ledger of the only process that writes: each entry gets its place when it is written. */
function openAlone(database: Database): Omit<OpenTables, "queries"> {
  const writer = lazily(() => openWriter(database));
  return {
    changes: {
      append: (entry: PreparedEntry) => writer().appender.append(entry),
      announce: ({ entry }: Announcement) => writer().appender.append(entry),
      import: (args: ImportArgs) => importEntries(writer(), database, args),
      checkpoint: ({ privateKey }: { privateKey: KeyObject }) => writer().checkpoints.make(privateKey),
      describe: (meta: Record<string, string>) => new Meta(database).set(meta),
      settle() {
        const placement = new Placement(database);
        while (placement.place(writer(), AT_ONCE) > 0);
        database.prepare("DELETE FROM ledger_chains").run();
        writer().appender.undone();
      },
    },
    undone() {
      writer().restore();
      writer().appender.undone();
    },
    chore() {
      const { index } = writer();
      return index.isDue ? () => index.update() : undefined;
    },
  };
}

/** How many entries get their places in one step. */
const AT_ONCE = 1_000;

/**
 * The ledger of one of several nodes: entries are taken in, and the node that holds the lease of the sequencer places
 * them and makes checkpoints. What it remembers of the tree holds as long as no other node has placed anything.
 */
function openShared(database: Database): Omit<OpenTables, "queries"> {
  const intake = new Intake(database);
  const placement = new Placement(database);
  let writer: ReturnType<typeof openWriter> | undefined;
  let isCurrent = false;
  const current = () => {
    writer ??= openWriter(database);
    if (!isCurrent || writer.tree.stored !== writer.tiles.size) writer.restore();
    isCurrent = true;
    return writer;
  };
  return {
    changes: {
      append: (entry: PreparedEntry) => intake.append(entry),
      announce: (announcement: Announcement) => intake.announce(announcement),
      import() {
        throw new LedgerError(
          "conflict",
          "a ledger is imported by one server that has the database to itself",
        );
      },
      checkpoint: ({ privateKey }: { privateKey: KeyObject }) => current().checkpoints.make(privateKey),
      describe: (meta: Record<string, string>) => new Meta(database).set(meta),
      place: ({ limit }: { limit: number }) => placement.place(current(), limit),
    },
    reserve: (changes) => intake.reserve(changes),
    undone() {
      intake.undone();
      isCurrent = false;
    },
    chore: () => (isCurrent && writer?.index.isDue ? () => writer?.index.update() : undefined),
  };
}

function openWriter(database: Database) {
  const tree = new StoredTree(database);
  const index = new EntryIndex(database);
  index.restore();
  const tiles = tree.restore();
  const restore = () => {
    tree.restore();
    index.restore();
  };
  const checkpoints = new Checkpoints(database, tiles);
  return { tree, tiles, index, checkpoints, restore, appender: new Appender(database, tiles, index) };
}

function lazily<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
