import { mailTables } from "@reins/haak/tables";
import { hostTables } from "@reins/host/tables";
import { ledgerTables } from "@reins/ledger/tables";
import { nodeTables, type Operations, type Tables } from "@reins/store";
import { harnessTables } from "@reins/supervisor/tables";
import { connectionTables } from "./connections/tables.ts";

/** The tables of a home's database. Imports no other code, so that the database can open while that is loaded. */
export const homeTables: readonly Tables<Operations, Operations>[] = [
  ledgerTables,
  ...harnessTables,
  ...hostTables,
  mailTables,
  connectionTables,
  nodeTables,
];
