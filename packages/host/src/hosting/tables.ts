import { memoryTables } from "@reins/bridge/tables";
import { graphTables } from "@reins/graph/tables";
import type { Operations, Tables } from "@reins/store";
import { declaredRunTables } from "../graph/tables.ts";
import { logTables } from "../log/tables.ts";
import { pinTables } from "../mcp/tables.ts";
import { sessionTables } from "../sessions/tables.ts";
import { skillTables } from "../skills/tables.ts";

export { declaredRunTables };

/** The tables that hosting keeps, beside the harness's own. */
export const hostTables: readonly Tables<Operations, Operations>[] = [
  sessionTables,
  logTables,
  memoryTables,
  skillTables,
  pinTables,
  graphTables,
  declaredRunTables,
];
