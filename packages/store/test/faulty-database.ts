import SqliteDatabase from "better-sqlite3";
import type { Database, Statement } from "../src/store.ts";
import { type FaultPlan, PlannedFaults } from "./faults.ts";

/** A database that fails as planned. Given to a store as the module of its `wrap`. */
export default function faultyDatabase(database: Database, memory: SharedArrayBuffer): Database {
  const faults = new PlannedFaults(memory);
  const passing = <Result>(sql: string, run: () => Result): Result => {
    const plan = faults.for(sql);
    if (plan?.fault === "hold") faults.hold();
    else if (plan?.fault === "throw") throwLater(sql);
    else if (plan) fail(plan, sql, run);
    return run();
  };
  const faulty = <Row>(sql: string, statement: Statement<Row>): Statement<Row> => ({
    run: (...parameters) => passing(sql, () => statement.run(...parameters)),
    get: (...parameters) => passing(sql, () => statement.get(...parameters)),
    all: (...parameters) => passing(sql, () => statement.all(...parameters)),
  });
  return {
    prepare: <Row>(sql: string) => faulty(sql, database.prepare<Row>(sql)),
    exec: (sql) => passing(sql, () => database.exec(sql)),
    get inTransaction() {
      return database.inTransaction;
    },
    close: () => database.close(),
  };
}

function fail({ fault, done }: FaultPlan, sql: string, run: () => unknown): never {
  try {
    if (done) run();
  } catch {
    // It would have failed by itself; now it fails as planned.
  }
  if (fault === "kill") process.kill(process.pid, "SIGKILL");
  // In a thread this ends the thread.
  if (fault === "exit") process.exit(3);
  throw new SqliteDatabase.SqliteError(`planned failure of ${sql}`, fault);
}

function throwLater(sql: string): void {
  setImmediate(() => {
    throw new Error(`thrown after ${sql}`);
  });
}
