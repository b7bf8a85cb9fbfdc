import type { Database, Statement } from "@reins/store";

/** A database whose waits for the disk are counted. Given to a store as the module of its `wrap`. */
export default function countedDatabase(
  database: Database,
  { counted }: { readonly counted: SharedArrayBuffer },
): Database {
  const count = new Int32Array(counted);
  let isDurable = true;
  const commit = <Row>(statement: Statement<Row>): Statement<Row> => ({
    get: (...parameters) => statement.get(...parameters),
    all: (...parameters) => statement.all(...parameters),
    run(...parameters) {
      if (isDurable) Atomics.add(count, 0, 1);
      return statement.run(...parameters);
    },
  });
  return {
    prepare: <Row>(sql: string) =>
      sql === "COMMIT" ? commit(database.prepare<Row>(sql)) : database.prepare<Row>(sql),
    exec(sql) {
      const [, level] = /^PRAGMA synchronous = (\w+)$/.exec(sql) ?? [];
      if (level !== undefined) isDurable = level === "FULL";
      database.exec(sql);
    },
    get inTransaction() {
      return database.inTransaction;
    },
    close: () => database.close(),
  };
}
