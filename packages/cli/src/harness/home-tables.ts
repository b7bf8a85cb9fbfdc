import { hostTables } from "@reins/host/tables";
import { ledgerTables } from "@reins/ledger/tables";
import { serverTables } from "@reins/server/tables";
import type { Operations, Tables } from "@reins/store";
import { harnessTables } from "@reins/supervisor/tables";

/** The tables of a home. */
export const homeTables: readonly Tables<Operations, Operations>[] = [
  ledgerTables,
  ...harnessTables,
  ...hostTables,
  ...serverTables,
];
