import { existsSync } from "node:fs";
import { groupTable } from "./group-table.ts";
import { linuxTable } from "./linux-table.ts";
import type { ProcessTable } from "./table.ts";

/** This machine's processes, as far as it shows them. */
export const systemTable: ProcessTable = existsSync("/proc/self/stat") ? linuxTable : groupTable;
