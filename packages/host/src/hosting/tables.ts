import { memoryTables } from "@reins/bridge/tables";
import type { Operations, Tables } from "@reins/store";

import { logTables } from "../log/tables.ts";
import { sessionTables } from "../sessions/tables.ts";

/** The tables that hosting keeps, beside the harness's own. */
export const hostTables: readonly Tables<Operations, Operations>[] = [sessionTables, logTables, memoryTables];
