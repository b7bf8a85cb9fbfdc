import type { Database, TablesModule } from "../../src/store.ts";
import { StoreError, type StoreErrorCode } from "../../src/store-error.ts";
import { cell } from "./cell.ts";
import type { Note } from "./notes.ts";

const module: TablesModule = {
  migrations: [
    "CREATE TABLE notes (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT",
    "CREATE TABLE note_bytes (id TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT",
  ],
  open: (database) => ({ changes: changesOf(database), queries: queriesOf(database) }),
};

export default module;

function changesOf(database: Database) {
  const insert = database.prepare("INSERT INTO notes (id, text) VALUES (?, ?)");
  const add = database.prepare("INSERT INTO notes (id, text) VALUES (?, ?) RETURNING place");
  const insertNew = database.prepare("INSERT OR IGNORE INTO notes (id, text) VALUES (?, ?)");
  const insertBytes = database.prepare("INSERT INTO note_bytes (id, bytes) VALUES (?, ?)");
  return {
    add: ({ id, text }: Note) => Number(cell(add.get(id, text), "place")),
    keep: ({ id, text }: Note) => insertNew.run(id, text).changes > 0,
    addAndFail({ id, message, code }: { id: string; message: string; code?: StoreErrorCode }) {
      insert.run(id, message);
      throw code ? new StoreError(code, message) : new Error(message);
    },
    addAndLeak({ id, text }: Note) {
      insert.run(id, text);
      return () => text;
    },
    keepBytes({ id, bytes }: { id: string; bytes: Uint8Array }) {
      insertBytes.run(id, bytes);
      return bytes.length;
    },
    pragma: ({ setting }: { setting: string }) => database.exec(`PRAGMA ${setting}`),
  };
}

function queriesOf(database: Database) {
  const find = database.prepare("SELECT id, text FROM notes WHERE id = ?");
  const all = database.prepare("SELECT id FROM notes ORDER BY place");
  const bytes = database.prepare("SELECT bytes FROM note_bytes WHERE id = ?");
  const ids = () => all.all().map((row) => String(cell(row, "id")));
  return {
    find: ({ id }: { id: string }) => find.get(id),
    ids,
    bytes: ({ id }: { id: string }) => cell(bytes.get(id), "bytes"),
    countTwice({ milliseconds }: { milliseconds: number }) {
      const before = ids().length;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
      return [before, ids().length];
    },
    fail({ message }: { message: string }) {
      throw new Error(message);
    },
    write: () => database.exec("DELETE FROM notes"),
    exit: () => process.exit(4),
  };
}
