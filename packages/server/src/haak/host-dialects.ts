import type { Dialect } from "../dialect/dialect.ts";
import { boardDialect } from "./board-dialect.ts";
import { mailboxDialect } from "./mailbox-dialect.ts";
import { memoryDialect } from "./memory-dialect.ts";
import { haakTablesDialect } from "./tables-dialect.ts";

/** What is asked about what agents share and leave behind, whether or not any runs. The store holds the host's tables. */
export const hostDialects: readonly Dialect[] = [
  boardDialect,
  mailboxDialect,
  memoryDialect,
  haakTablesDialect,
];
