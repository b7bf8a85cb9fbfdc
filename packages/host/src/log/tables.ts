import type { Tables } from "@reins/store";
import type { LoggedEvent } from "./logged-event.ts";

/** What is changed about logs. */
export type LogChanges = {
  /** Adds messages at the end of a session's log. */
  append(args: { session: string; events: readonly LoggedEvent[] }): undefined;
  /** Forgets messages that are older than a time, or beyond so many of a session. Gives how many. */
  prune(args: { before: number; keep: number }): number;
  /** Begins an epoch, greater than all before it. */
  begin(args: null): number;
  /** Forgets everything of a session. */
  forget(args: { session: string }): undefined;
};

/** What is asked about them. */
export type LogQueries = {
  /** Messages after a place, oldest first, as many as fit. */
  after(args: { session: string; seq: number; limit: number; bytes: number }): LoggedEvent[];
  /** The first and the last place that is kept, and the last of an epoch or the ones before it. */
  ends(args: { session: string; epoch: number }): LogEnds | undefined;
};

/** Where a log begins and ends. */
export interface LogEnds {
  readonly first: number;
  readonly last: number;
  readonly lastEpoch: number;
  /** The last message of the epoch that was asked about, or of an earlier one. */
  readonly lastOfEpoch: number;
}

/** The messages to clients, complete for as long as they are kept. */
export const logTables: Tables<LogChanges, LogQueries> = {
  name: "log",
  module: new URL("./module.ts", import.meta.url),
};
