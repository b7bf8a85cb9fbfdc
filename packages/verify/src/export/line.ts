import type { InspectedEntry } from "../entry/inspect.ts";
import type { Complaint } from "../report/fault.ts";

/** The line of an entry that its source knows more about. */
export interface WitnessedLine {
  readonly text: string;
  /** Compares the entry with what the source has beside it. */
  compare(entry: InspectedEntry): readonly Complaint[];
}

/** A line of an export, or why there is none to read. */
export type Line = string | WitnessedLine | Complaint;

/** Lines as they arrive, some at a time. */
export type LineBatches = AsyncIterable<readonly Line[]>;

/** What an export is read from: pieces of its bytes, compressed or not, or its lines one by one. */
export type ExportSource = AsyncIterable<Uint8Array> | AsyncIterable<string>;
