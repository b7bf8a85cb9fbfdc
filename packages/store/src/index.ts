export type { Database, Statement } from "./database.ts";
export { openSqlite, type SqliteOptions } from "./sqlite/open.ts";
export { openSqliteReader, type StoreReader } from "./sqlite/open-reader.ts";
export type { CommitOptions, Lease, Results, Store } from "./store.ts";
export { StoreError, type StoreErrorCode } from "./store-error.ts";
export {
  type Change,
  change,
  moduleBeside,
  type OpenTables,
  type Operations,
  type Tables,
  type TablesModule,
} from "./tables.ts";
