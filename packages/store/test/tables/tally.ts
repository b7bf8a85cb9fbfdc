import type { Tables } from "../../src/store.ts";

/** What the tables remember of one count, and what is in the database. */
interface TallyState {
  readonly remembered: number | undefined;
  readonly kept: number;
  /** How often they were notified of an undone commit. */
  readonly undone: number;
}

type TallyChanges = {
  /** Adds to a count; returns the new one. A count never falls below zero. */
  raise(args: { name: string; by: number }): number;
  inspect(args: { name: string }): TallyState;
};

type TallyQueries = { total(args: { name: string }): number };

/** Tables that remember what they wrote, and so have to be notified when it was undone. */
export const tally: Tables<TallyChanges, TallyQueries> = {
  name: "tally",
  module: new URL("./tally.tables.ts", import.meta.url),
};
