import { receiveMessageOnPort } from "node:worker_threads";
import type { Database, Statement } from "../store.ts";
import { StoreError, type StoreErrorCode } from "../store-error.ts";
import { type Translated, translateScript, translateStatement } from "./dialect.ts";
import {
  GONE,
  type LinkEnd,
  type LinkError,
  type LinkReply,
  type LinkRequest,
  REPLIES,
  type SqlStep,
  type SqlValue,
  type StepResult,
} from "./messages.ts";

/** Statements are sent when so many wait, or so many bytes, so that the database works while the tables do. */
const [CHUNK_STEPS, CHUNK_BYTES] = [64, 262_144];
/** Chunks that were sent and not answered; enough to keep the database busy. */
const MOST_IN_FLIGHT = 8;

const CODES: readonly (readonly [RegExp, StoreErrorCode, string])[] = [
  [/^23(505|503|P01)/, "conflict", "the change contradicts what is there"],
  [/^(22|23)/, "invalid", "the tables cannot take such a value"],
  [/^53100/, "full", "the database's disk is full; make room and try again"],
  [/^(53|57|58|08|40|55)/, "unavailable", "the database cannot do it now; try again later"],
  [/^XX00[12]/, "corrupt", "the database is damaged; restore a backup"],
  [
    /^RN001/,
    "io",
    "this process has lost the database to another; stop one of them, and start this one anew",
  ],
  [/^28/, "unavailable", "the database refused the user, the password or the way of connecting"],
  [/^25006/, "unavailable", "the database is read-only, such as a standby; name the one that takes writes"],
  [/^42501/, "unavailable", "the user of the database lacks a right there"],
  [/^3D000/, "unavailable", "there is no such database; make it with CREATE DATABASE"],
];
const UNREACHABLE = "the database cannot be reached; try again later";

/** An error of PostgreSQL itself, or of the connection to it. */
export class PostgresFault extends StoreError {
  /** Whether the connection is gone. */
  readonly lost: boolean;
  /** The SQLSTATE; empty where there is none. */
  readonly state: string;

  constructor({ code, message, lost }: LinkError) {
    const [, known, meaning] = CODES.find(([pattern]) => pattern.test(code)) ?? [];
    if (known !== undefined) super(known, `${meaning} (${code}: ${message})`);
    else super(lost ? "unavailable" : "invalid", lost ? `${UNREACHABLE} (${message})` : message);
    this.lost = lost;
    this.state = code;
  }
}

/** Where the result of a statement arrives. */
interface Pending {
  result?: StepResult;
}

/**
 * A database in PostgreSQL for code that does not wait by promises. Statements whose result is not looked at are queued
 * and sent together; one that returns rows, the number of changes of one, and {@link settle} wait for all before.
 */
export class PostgresDatabase implements Database {
  readonly kind = "postgres";
  readonly isShared: boolean;
  readonly #end: LinkEnd;
  readonly #statements = new Map<string, Translated>();
  #queue: SqlStep[] = [];
  #queued: Pending[] = [];
  #bytes = 0;
  readonly #inFlight: (readonly Pending[])[] = [];
  /** The first failure since the transaction, or the part of it since a savepoint, began. */
  #fault: PostgresFault | undefined;
  #isLost = true;
  #inTransaction = false;
  #seen = 0;

  constructor(end: LinkEnd, { isShared = false } = {}) {
    this.#end = end;
    this.isShared = isShared;
  }

  /** Whether there is no connection. */
  get isLost(): boolean {
    return this.#isLost;
  }

  get inTransaction(): boolean {
    return this.#inTransaction && !this.#isLost;
  }

  /** Makes a connection, in place of one there may be, while the thread does other things. */
  async connect(settings: readonly string[]): Promise<void> {
    // Everything that was sent is answered, if only by the loss of the connection.
    while (this.#inFlight.length > 0) this.#receive();
    this.#queue = [];
    this.#queued = [];
    this.#bytes = 0;
    this.#inTransaction = false;
    this.#fault = undefined;
    const { error } = await this.#ask({ kind: "connect", settings });
    this.#isLost = error !== undefined;
    if (error) throw new PostgresFault(error);
  }

  /** Ends the connection in order. */
  async end(): Promise<void> {
    this.#isLost = true;
    await this.#ask({ kind: "end" });
  }

  close(): void {
    this.#isLost = true;
    this.#end.port.close();
  }

  prepare<Row = unknown>(sql: string): Statement<Row> {
    const known = this.#statements.get(sql) ?? translateStatement(sql);
    this.#statements.set(sql, known);
    const takesBack = /^\s*ROLLBACK\b/.test(sql);
    const add = (parameters: readonly unknown[], rows: boolean): Pending => {
      if (takesBack) this.#recover();
      return this.#add({ text: known.text, values: valuesOf(known, parameters), rows });
    };
    const all = (parameters: readonly unknown[]): Row[] => {
      const pending = add(parameters, true);
      this.settle();
      // Tables say what their own statement selects.
      return rowsOf(pending.result) as Row[];
    };
    const settled = (pending: Pending): StepResult | undefined => {
      if (!pending.result) this.settle();
      return pending.result;
    };
    return {
      run(...parameters) {
        const pending = add(parameters, false);
        return {
          get changes() {
            return settled(pending)?.changes ?? 0;
          },
        };
      },
      get: (...parameters) => all(parameters)[0],
      all: (...parameters) => all(parameters),
    };
  }

  exec(sql: string): void {
    const isBack = /^\s*ROLLBACK\b/.test(sql);
    if (isBack) this.#recover();
    this.settle();
    if (/^\s*BEGIN\b/.test(sql)) this.#inTransaction = true;
    this.#add({ text: translateScript(sql), values: undefined, rows: false });
    this.settle();
    if (isBack || /^\s*COMMIT\b/.test(sql)) this.#inTransaction = false;
  }

  /** Runs a script that is written for PostgreSQL. */
  run(sql: string): void {
    this.settle();
    this.#add({ text: sql, values: undefined, rows: false });
    this.settle();
  }

  /** Begins a transaction, without waiting. */
  begin(mode = ""): void {
    this.#add({ text: `BEGIN ${mode}`, values: [], rows: false });
    this.#inTransaction = true;
  }

  /** Ends it; returns when it is kept. */
  commit(): void {
    this.#add({ text: "COMMIT", values: [], rows: false });
    this.settle();
    this.#inTransaction = false;
  }

  /** Ends one that only read, without waiting. */
  release(): void {
    if (!this.#isLost && !this.#fault) this.#add({ text: "COMMIT", values: [], rows: false });
    else if (!this.#isLost) this.exec("ROLLBACK");
    if (!this.#isLost) this.flush();
    this.#inTransaction = false;
  }

  /** Waits until the database has answered everything; throws what failed. */
  settle(): void {
    this.flush();
    while (this.#inFlight.length > 0) this.#receive();
    const fault = this.#fault;
    if (!fault) return;
    // Outside of a transaction a failure concerns its own statement only.
    if (!this.#inTransaction && !fault.lost) this.#fault = undefined;
    throw fault;
  }

  /** Sends what is queued. */
  flush(): void {
    if (this.#queue.length === 0) return;
    if (this.#isLost) throw lost();
    this.#send({ kind: "run", steps: this.#queue });
    this.#inFlight.push(this.#queued);
    this.#queue = [];
    this.#queued = [];
    this.#bytes = 0;
  }

  #add(step: SqlStep): Pending {
    if (this.#isLost) throw lost();
    if (this.#fault) throw this.#fault;
    const pending: Pending = {};
    this.#queue.push(step);
    this.#queued.push(pending);
    this.#bytes += sizeOf(step);
    if (this.#queue.length >= CHUNK_STEPS || this.#bytes >= CHUNK_BYTES) {
      this.flush();
      while (this.#inFlight.length > MOST_IN_FLIGHT) this.#receive();
    }
    return pending;
  }

  /** Before something is taken back: what failed is over. */
  #recover(): void {
    try {
      this.settle();
    } catch (error) {
      if (this.#isLost) throw error;
    }
    this.#fault = undefined;
  }

  #receive(): void {
    const { results, error } = this.#waitForReply();
    const pending = this.#inFlight.shift() ?? [];
    for (const [index, result] of results.entries()) {
      const one = pending[index];
      if (one) one.result = result;
    }
    if (!error) return;
    this.#fault ??= new PostgresFault(error);
    if (!error.lost) return;
    this.#isLost = true;
    this.#fault = new PostgresFault(error);
  }

  #waitForReply(): LinkReply {
    const { port, signal } = this.#end;
    for (;;) {
      const found = receiveMessageOnPort(port);
      if (found) return found.message;
      if (Atomics.load(signal, GONE) !== 0) return { results: [], error: NO_CONNECTION };
      const replies = Atomics.load(signal, REPLIES);
      // One that came in between is there by now.
      if (replies === this.#seen) Atomics.wait(signal, REPLIES, replies, 1_000);
      this.#seen = replies;
    }
  }

  #send(request: LinkRequest): void {
    this.#end.port.postMessage(request);
  }

  #ask(request: LinkRequest): Promise<LinkReply> {
    const { promise, resolve } = Promise.withResolvers<LinkReply>();
    this.#end.port.once("message", resolve);
    this.#send(request);
    return promise;
  }
}

const NO_CONNECTION: LinkError = { code: "", message: "there is no connection", lost: true };

function lost(): PostgresFault {
  return new PostgresFault(NO_CONNECTION);
}

function rowsOf(result: StepResult | undefined): object[] {
  if (!result) return [];
  const { names, rows } = result;
  return rows.map((row) => {
    const members: Record<string, unknown> = {};
    for (const [index, name] of names.entries()) members[name] = bufferIn(row[index]);
    return members;
  });
}

/** SQLite gives buffers, and tables may use what an array lacks. */
function bufferIn(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

function valuesOf({ names, parameters }: Translated, given: readonly unknown[]): SqlValue[] {
  if (!names) {
    if (given.length !== parameters)
      throw new RangeError(`a statement takes ${parameters} parameters, not ${given.length}`);
    return given.map(boundValue);
  }
  const members = new Map<string, unknown>(Object.entries(given[0] ?? {}));
  return names.map((name) => {
    if (!members.has(name)) throw new RangeError(`Missing named parameter "${name}"`);
    return boundValue(members.get(name));
  });
}

function boundValue(value: unknown): SqlValue {
  if (typeof value === "string") {
    if (!value.includes("\0")) return value;
    throw new StoreError("invalid", "PostgreSQL cannot hold the character U+0000 in a text");
  }
  if (value === null || typeof value === "bigint" || value instanceof Uint8Array) return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new TypeError(
    `a parameter of a statement cannot be ${value === undefined ? "undefined" : typeof value}`,
  );
}

function sizeOf({ text, values }: SqlStep): number {
  let size = text.length;
  for (const value of values ?? [])
    size += typeof value === "string" ? value.length : value instanceof Uint8Array ? value.length : 8;
  return size;
}
