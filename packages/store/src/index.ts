export { type KnownNode, type NodeState, nodeTables, type Peer, type TenantOwner } from "./nodes.ts";
export {
  isPostgresAddress,
  type PostgresAddress,
  readPostgresAddress,
  shownAddress,
} from "./postgres/address.ts";
export { openPostgres, openPostgresReader } from "./postgres/open.ts";
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
export { change } from "./sqlite/sqlite-store.ts";
export type { DatabaseWrap } from "./sqlite/threads.ts";
export type {
  Change,
  CommitOptions,
  Database,
  Lease,
  OpenTables,
  Operations,
  Results,
  Statement,
  Store,
  StoreNode,
  StoreReader,
  Tables,
  TablesModule,
} from "./store.ts";
export { StoreError, type StoreErrorCode } from "./store-error.ts";
export { parseStored, TextPacker } from "./stored-json.ts";
