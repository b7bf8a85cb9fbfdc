import SqliteDatabase from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import { write } from "../../test/in-process.ts";
import notesModule from "../../test/tables/notes.tables.ts";
import { notes } from "../../test/tables/notes.ts";
import type { Database } from "../store.ts";
import { StoreError, type StoreErrorCode } from "../store-error.ts";
import { change } from "./sqlite-store.ts";
import { Writer } from "./writer.ts";

/** Looks how long the log is. */
const LOOK = "PRAGMA wal_checkpoint(NOOP)";

const add = (id: string) => change(notes, "add", { id, text: "" });

/** A database in memory that notes what it is asked to do. */
function recorded(): { database: Database; asked: string[] } {
  const file = new SqliteDatabase(":memory:");
  onTestFinished(() => void file.close());
  for (const migration of notesModule.migrations) file.exec(String(migration));
  const asked: string[] = [];
  const noting = <Result>(sql: string, run: () => Result): Result => {
    asked.push(sql.replace(/ (INTO|synchronous|one_commit).*/, ""));
    return run();
  };
  const database: Database = {
    prepare<Row>(sql: string) {
      const statement = file.prepare<unknown[], Row>(sql);
      return {
        run: (...parameters) => noting(sql, () => statement.run(...parameters)),
        get: (...parameters) => noting(sql, () => statement.get(...parameters)),
        all: (...parameters) => noting(sql, () => statement.all(...parameters)),
      };
    },
    exec: (sql) => noting(sql.replace("PRAGMA synchronous = ", ""), () => void file.exec(sql)),
    get inTransaction() {
      return file.inTransaction;
    },
    close: () => void file.close(),
  };
  return { database, asked };
}

async function recordingWriter() {
  const { database, asked } = recorded();
  const tables = new Map([["notes", await notesModule.open(database)]]);
  const writer = new Writer(database, tables);
  return { writer, asked };
}

describe("the writer", () => {
  it("writes a batch in one transaction, which waits for the disk if any commit of it is to", async () => {
    const { writer, asked } = await recordingWriter();
    writer.apply([
      { changes: [add("a")], durable: false },
      { changes: [add("b")], durable: true },
    ]);
    expect(asked).toEqual(["FULL", "BEGIN IMMEDIATE", "INSERT", "INSERT", "COMMIT"]);
  });

  it("does not wait for the disk when no commit is to, and does again when one is", async () => {
    const { writer, asked } = await recordingWriter();
    for (const [id, durable] of [
      ["a", false],
      ["b", false],
      ["c", true],
      ["d", true],
      ["e", false],
    ] as const)
      writer.apply([{ changes: [add(id)], durable }]);
    const each = ["BEGIN IMMEDIATE", "INSERT", "COMMIT"];
    expect(asked).toEqual(["NORMAL", ...each, ...each, "FULL", ...each, ...each, "NORMAL", ...each]);
  });

  it("retries a batch with savepoints, not with a transaction for each commit", async () => {
    const { writer, asked } = await recordingWriter();
    const outcomes = writer.apply([write(add("a")), write(add("a")), write(add("b"))]);
    expect(outcomes).toMatchObject([{ results: [1] }, { error: { code: "conflict" } }, { results: [2] }]);
    expect(asked).toEqual([
      ...["FULL", "BEGIN IMMEDIATE", "INSERT", "INSERT", "ROLLBACK", "BEGIN IMMEDIATE"],
      ...["SAVEPOINT", "INSERT", "RELEASE"],
      ...["SAVEPOINT", "INSERT", "ROLLBACK TO", "RELEASE"],
      ...["SAVEPOINT", "INSERT", "RELEASE", "COMMIT"],
    ]);
  });

  it("finds who is to blame for what shows only at the end of a transaction", async () => {
    const { database } = recorded();
    database.exec(
      "CREATE TABLE child (parent INTEGER REFERENCES notes (place) DEFERRABLE INITIALLY DEFERRED) STRICT",
    );
    const insert = database.prepare("INSERT INTO child (parent) VALUES (?)");
    const link = (parent: number) => insert.run(parent).changes;
    const tables = new Map([["child", { changes: { link }, queries: {} }]]);
    database.exec("INSERT INTO notes (id, text) VALUES ('a', '')");
    const writer = new Writer(database, tables);
    const commit = (parent: number) => write({ tables: "child", name: "link", args: parent });
    expect(writer.apply([commit(1), commit(99), commit(1)])).toMatchObject([
      { results: [1] },
      { error: { code: "conflict" } },
      { results: [1] },
    ]);
    expect(database.prepare("SELECT count(*) AS count FROM child").get()).toEqual({ count: 2 });
  });

  it("does not take a change's own refusal for a failure of the disk", async () => {
    const { database } = recorded();
    const refuse = (code: StoreErrorCode) => {
      throw new StoreError(code, "as the change says it");
    };
    const writer = new Writer(
      database,
      new Map([["t", { changes: { refuse, pass: () => 1 }, queries: {} }]]),
    );
    const pass = write({ tables: "t", name: "pass", args: null });
    for (const code of ["full", "io", "corrupt", "locked"]) {
      const refusal = write({ tables: "t", name: "refuse", args: code });
      expect(writer.apply([pass, refusal, pass])).toEqual([
        { results: [1] },
        { error: { code, message: "as the change says it" } },
        { results: [1] },
      ]);
    }
    expect(writer.apply([pass])).toEqual([{ results: [1] }]);
  });

  it("survives tables that fail when they are notified, and writes no more", async () => {
    const { database } = recorded();
    const broken = {
      changes: {
        fail() {
          throw new Error("no");
        },
        pass: () => 1,
      },
      queries: {},
      undone() {
        throw new Error("cannot read it again");
      },
    };
    const writer = new Writer(database, new Map([["broken", broken]]));
    const commit = (name: string) => write({ tables: "broken", name, args: null });
    expect(writer.apply([commit("pass")])).toEqual([{ results: [1] }]);
    expect(writer.apply([commit("fail")])).toMatchObject([
      { error: { code: "io", message: expect.stringMatching(/read it again/) } },
    ]);
    expect(writer.apply([commit("pass")])).toMatchObject([{ error: { code: "io" } }]);
  });

  it("runs chores on request, in a transaction of their own that is not durable", async () => {
    const { database, asked } = recorded();
    const insert = database.prepare("INSERT INTO notes (id, text) VALUES (?, '')");
    const left = ["a", "b"];
    const tables = {
      changes: {},
      queries: {},
      chore() {
        const id = left.shift();
        return id === undefined ? undefined : () => void insert.run(id);
      },
    };
    const writer = new Writer(database, new Map([["notes", tables]]));
    writer.tidy();
    writer.tidy();
    writer.tidy();
    const free = "PRAGMA freelist_count";
    const each = ["NORMAL", "BEGIN IMMEDIATE", "INSERT", "COMMIT", free, LOOK, "FULL"];
    expect(asked).toEqual([...each, ...each, free, LOOK]);
  });

  it("undoes a chore that fails, and continues to write", async () => {
    const { database } = recorded();
    const insert = database.prepare("INSERT INTO notes (id, text) VALUES (?, '')");
    let undone = 0;
    const tables = {
      changes: { add: (id: string) => insert.run(id).changes },
      queries: {},
      undone() {
        undone += 1;
      },
      chore: () => () => {
        insert.run("a");
        insert.run("a");
      },
    };
    const writer = new Writer(database, new Map([["t", tables]]));
    writer.tidy();
    expect(undone).toBe(1);
    expect(writer.apply([write({ tables: "t", name: "add", args: "a" })])).toEqual([{ results: [1] }]);
  });
});
