import type { Tables } from "../../src/store.ts";

/** Something to keep. */
export interface Note {
  readonly id: string;
  readonly text: string;
}

type NoteChanges = {
  /** Returns its position. A note of the same name is a conflict. */
  add(note: Note): number;
  /** Does nothing when it is there already; says whether it was new. */
  keep(note: Note): boolean;
  /** Adds a note, then fails with a message, as an error of the store if there is a code. */
  addAndFail(args: { id: string; message: string; code?: "conflict" | "fenced" }): undefined;
  /** Adds a note and returns what cannot leave the thread. */
  addAndLeak(note: Note): undefined;
  /** Keeps bytes under a name; returns how many. */
  keepBytes(args: { id: string; bytes: Uint8Array }): number;
  /** Changes a setting of the writer's database, such as `max_page_count = 100`; only in SQLite. */
  pragma(args: { setting: string }): undefined;
};

type NoteQueries = {
  find(args: { id: string }): Note | undefined;
  /** In the order in which they were added. */
  ids(args: null): string[];
  bytes(args: { id: string }): Uint8Array | undefined;
  /** How many there are, and how many a while later. */
  countTwice(args: { milliseconds: number }): [number, number];
  /** Fails. */
  fail(args: { message: string }): undefined;
  /** Tries to write. */
  write(args: null): undefined;
  /** Ends the thread in which it runs. */
  exit(args: null): undefined;
};

/** Tables that keep everything in the database. */
export const notes: Tables<NoteChanges, NoteQueries> = {
  name: "notes",
  module: new URL("./notes.tables.ts", import.meta.url),
};
