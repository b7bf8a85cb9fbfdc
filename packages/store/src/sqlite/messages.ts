import type { Change } from "../tables.ts";
import type { Outcome, SentOutcome } from "./outcome.ts";
import type { Part } from "./parts.ts";

/** One commit on its way to the writer. */
export interface Write {
  readonly changes: readonly Omit<Change<unknown>, "result">[];
  readonly durable: boolean;
}

/** Commits that arrive together; those of several such requests may be written in one transaction. */
export interface ApplyRequest {
  readonly kind: "apply";
  readonly id: number;
  readonly writes: readonly Write[];
}

/** Everything but commits; `open` comes first. */
export type OtherRequest =
  | { readonly kind: "open"; readonly id: number }
  | {
      readonly kind: "query";
      readonly id: number;
      readonly tables: string;
      readonly name: string;
      readonly args: unknown;
    }
  | { readonly kind: "backup"; readonly id: number; readonly path: string }
  | { readonly kind: "scrub"; readonly id: number }
  | { readonly kind: "close"; readonly id: number };

/** What the main thread asks of a thread of the store. */
export type Request = ApplyRequest | OtherRequest;

/** What a thread does at once: one thing, or all commits that have arrived. */
export type Task = OtherRequest | readonly ApplyRequest[];

/** The outcomes of commits that arrived together. A list, because the names in an object take longer to copy. */
export type AppliedReply = readonly [id: number, outcomes: readonly SentOutcome[]];

/** The answer to anything else, or to commits of which none was tried. */
export interface AnsweredReply {
  readonly id: number;
  readonly outcome: Outcome<unknown>;
}

/** What a thread answers. */
export type Reply = AppliedReply | AnsweredReply;

/** What a thread is started with. */
export interface ThreadData {
  readonly path: string;
  readonly role: "writer" | "reader";
  readonly tables: readonly Part[];
  /** The most commits in one transaction. */
  readonly maxBatch: number;
  readonly wrap?: DatabaseWrap | undefined;
  /** Whether a database that lacks something is opened all the same. */
  readonly acceptLoss?: boolean | undefined;
}

/** A module whose default export stands between the writer and its database: `(database, settings) => Database`. */
export interface DatabaseWrap {
  readonly module: string;
  /** Handed to it; crosses a thread. */
  readonly settings?: unknown;
}
