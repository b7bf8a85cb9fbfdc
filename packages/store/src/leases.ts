import type { Lease, Tables } from "./store.ts";

type LeaseChanges = {
  // Without a time, the clock of the database counts.
  claim(args: { name: string; owner: string; now?: number; milliseconds: number }): Lease | undefined;
  renew(args: { lease: Lease; now?: number; milliseconds: number }): Lease | undefined;
  release(args: { lease: Lease }): undefined;
  fence(args: { lease: Lease }): undefined;
};

type LeaseQueries = {
  find(args: { name: string }): Lease | undefined;
};

/** Who may act for what, and since which epoch. Part of every store. */
export const leases: Tables<LeaseChanges, LeaseQueries> = {
  name: "leases",
  module: new URL("./leases.tables.ts", import.meta.url),
};
