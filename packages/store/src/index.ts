export type { Database, Statement } from "./database.ts";
export { TextPacker } from "./packed-text.ts";
export { examine as examineSqlite, type StoreLoss } from "./sqlite/examine.ts";
export type { SqliteLimits } from "./sqlite/limits.ts";
export { MarkFile } from "./sqlite/mark-file.ts";
export type { DatabaseWrap } from "./sqlite/messages.ts";
export { openSqlite, type PreparedSqlite, prepareSqlite, type SqliteOptions } from "./sqlite/open.ts";
export { openSqliteReader } from "./sqlite/open-reader.ts";
export type { CommitOptions, Lease, Results, Store, StoreReader } from "./store.ts";
export { StoreError, type StoreErrorCode } from "./store-error.ts";
export {
  type Change,
  change,
  type OpenTables,
  type Operations,
  type Tables,
  type TablesModule,
} from "./tables.ts";
