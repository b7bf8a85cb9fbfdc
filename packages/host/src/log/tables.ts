import type { Tables } from "@reins/store";
import type { Hole, LoggedEvent, NewEvent } from "./logged-event.ts";

/**
 * Messages that follow each other in the log and differ in nothing but what they say, each as JSON: texts cross a thread
 * faster than objects.
 */
export interface Run extends Omit<NewEvent, "message"> {
  /** The position of the first; the others come right after it. */
  readonly first: number;
  readonly epoch: number;
  readonly at: number;
  readonly texts: readonly string[];
}

/** A message at its position, as JSON. */
export type WrittenEvent = Omit<LoggedEvent, "message"> & { readonly text: string };

/** What is changed about the log. */
export type LogChanges = {
  /** Adds messages at their places. */
  append(args: { runs: readonly Run[]; holes?: readonly Hole[] }): undefined;
  /** Begins an epoch, greater than all before it. */
  begin(args: null): number;
  /** Forgets messages that are older than a time, the oldest first and at most so many; gives how many. */
  prune(args: { before: number; limit: number }): number;
};

/** Which messages. */
export interface LogRange {
  readonly tenant: string;
  readonly sessions: readonly string[];
  readonly after: number;
  readonly limit: number;
  /** Characters, about. */
  readonly size: number;
}

/** What is asked about it. */
export type LogQueries = {
  /** Messages of sessions after a position, oldest first, as many as fit, each as JSON. */
  written(args: LogRange): WrittenEvent[];
  /** The last position of every tenant, also if its message was deleted. */
  lasts(args: null): ReadonlyMap<string, number>;
  /** The last position of a tenant, also if its message was deleted. */
  last(args: { tenant: string }): number;
  /** The last position of a tenant in an epoch or an earlier one, as far as it is known; 0 when there is none. */
  lastOf(args: { tenant: string; epoch: number }): number;
  /** The position up to which messages of a session were deleted; 0 when none were, or where the name holds a colon. */
  prunedUntil(args: { tenant: string; session: string }): number;
  /** The messages of a tenant after a position that were written and are lost. */
  holes(args: { tenant: string; after: number }): Hole[];
  /** How many bytes the messages of a tenant take. */
  stored(args: { tenant: string }): number;
  /** How many messages are stored of each of some sessions; those with none are left out. */
  counts(args: { tenant: string; sessions: readonly string[] }): ReadonlyMap<string, number>;
};

/** The messages to clients, complete for as long as they are stored. */
export const logTables: Tables<LogChanges, LogQueries> = {
  name: "log",
  module: new URL("./module.ts", import.meta.url),
};
