import type { MessagePort } from "node:worker_threads";
import { errorMessage } from "@reins/kit/errors";
import type { Change } from "../store.ts";
import { StoreError, type StoreErrorCode } from "../store-error.ts";
import type { Part } from "./open.ts";

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

/** A request of the main thread to a thread of the store. */
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

/** A module whose default export wraps the database of the writer: `(database, settings) => Database`. */
export interface DatabaseWrap {
  readonly module: string;
  /** Handed to it; crosses a thread. */
  readonly settings?: unknown;
}

/** The requests that a thread has not begun yet, in order. */
export class Inbox {
  readonly #maxBatch: number;
  #waiting: Request[] = [];

  constructor(maxBatch: number) {
    this.#maxBatch = maxBatch;
  }

  /** Whether there is nothing left to do. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(request: Request): void {
    this.#waiting.push(request);
  }

  /**
   * The next thing to do: one request, or, which is group commit, all commits that gathered while the last batch was
   * written.
   */
  take(): Task | undefined {
    const batch: ApplyRequest[] = [];
    let commits = 0;
    for (const request of this.#waiting) {
      if (request.kind !== "apply") {
        if (batch.length > 0) break;
        this.#waiting.shift();
        return request;
      }
      commits += request.writes.length;
      if (commits > this.#maxBatch && batch.length > 0) break;
      batch.push(request);
    }
    this.#waiting = this.#waiting.slice(batch.length);
    return batch.length > 0 ? batch : undefined;
  }
}

/** Sends a thread's replies. */
export class Replies {
  readonly #port: Pick<MessagePort, "postMessage">;

  constructor(port: Pick<MessagePort, "postMessage">) {
    this.#port = port;
  }

  answer(id: number, results: unknown): void {
    try {
      this.#send({ id, outcome: { results } });
    } catch (error) {
      this.fail(id, error);
    }
  }

  fail(id: number, error: unknown): void {
    this.#send({ id, outcome: failed(error) });
  }

  /** The outcomes of commits. One whose results cannot be sent does not keep back the others. */
  applied(id: number, outcomes: readonly Outcome[]): void {
    try {
      this.#send([id, allSent(outcomes)]);
    } catch {
      this.#send([id, allSent(outcomes.map(sendable))]);
    }
  }

  #send(reply: Reply): void {
    this.#port.postMessage(reply);
  }
}

/** Not by `map`: what that makes is copied like an array with holes, in twice the time. */
function allSent(outcomes: readonly Outcome[]): SentOutcome[] {
  const all: SentOutcome[] = [];
  for (const outcome of outcomes) all.push(sent(outcome));
  return all;
}

function sendable(outcome: Outcome): Outcome {
  try {
    return structuredClone(outcome);
  } catch (error) {
    const text = "the commit was kept, but what its changes returned is not plain data";
    return failed(new StoreError("invalid", text, { cause: error }));
  }
}

const CODES: readonly (readonly [RegExp, StoreErrorCode, string])[] = [
  [/^SQLITE_FULL/, "full", "the disk is full; make room and try again"],
  [/^SQLITE_BUSY/, "locked", "another process writes to this database"],
  [/^SQLITE_(CORRUPT|NOTADB)/, "corrupt", "the database is damaged; restore a backup"],
  [/^SQLITE_READONLY/, "io", "the database cannot be written to"],
  [/^SQLITE_CANTOPEN/, "io", "the database cannot be opened"],
  [/^SQLITE_(IOERR|NOMEM)/, "io", "the disk failed; open the store anew"],
  [
    /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY|ROWID|FOREIGNKEY|TRIGGER)/,
    "conflict",
    "the change contradicts what is there",
  ],
  [/^SQLITE_CONSTRAINT/, "invalid", "the tables cannot take such a value"],
];

/** What an error of SQLite means to a caller. An error of the tables' own keeps its message. */
export function translate(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const text = errorMessage(error);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const [, known, meaning] = CODES.find(([pattern]) => pattern.test(code)) ?? [];
  if (known === undefined) return new StoreError("invalid", text, { cause: error });
  return new StoreError(known, `${meaning} (${code}: ${text})`, { cause: error });
}

/** An error as it crosses threads. */
interface Fault {
  readonly code: StoreErrorCode;
  readonly message: string;
}

/** What became of one commit or query. */
export type Outcome<Results = unknown[]> = { readonly results: Results } | { readonly error: Fault };

/**
 * The outcome of a commit as it crosses threads: the results of its changes, or their number when all are
 * undefined, which is the usual case.
 */
export type SentOutcome = unknown[] | number | { readonly error: Fault };

/** Makes an outcome ready to be sent. */
function sent(outcome: Outcome): SentOutcome {
  if ("error" in outcome) return outcome;
  const { results } = outcome;
  return results.every((result) => result === undefined) ? results.length : results;
}

/** The outcome of what failed. */
export function failed(error: unknown): { readonly error: Fault } {
  const { code, message } = translate(error);
  return { error: { code, message } };
}
