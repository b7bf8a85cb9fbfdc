export { TextPacker } from "./packed-text.ts";
export { MarkFile } from "./sqlite/commit-mark.ts";
export { examine as examineSqlite, type StoreLoss } from "./sqlite/examine.ts";
export type { SqliteLimits } from "./sqlite/open.ts";
export {
  openSqlite,
  openSqliteReader,
  type PreparedSqlite,
  prepareSqlite,
  type SqliteOptions,
} from "./sqlite/open.ts";
export type { DatabaseWrap } from "./sqlite/threads.ts";
export type { CommitOptions, Database, Lease, Results, Statement, Store, StoreReader } from "./store.ts";
export {
  type Change,
  change,
  type OpenTables,
  type Operations,
  type Tables,
  type TablesModule,
} from "./store.ts";
export { StoreError, type StoreErrorCode } from "./store-error.ts";
