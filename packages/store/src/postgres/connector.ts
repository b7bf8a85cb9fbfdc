// The thread that speaks to PostgreSQL, for the threads of the store, which wait for it.
import { parentPort, workerData } from "node:worker_threads";
import { errorMessage } from "@reins/kit/errors";
import pg from "pg";
import {
  type ConnectorData,
  type LinkEnd,
  type LinkError,
  type LinkNotice,
  type LinkReply,
  type LinkRequest,
  REPLIES,
  type SqlStep,
  type SqlValue,
  type StepResult,
} from "./messages.ts";

/** Statements that stay prepared on a connection; others are parsed each time. */
const MOST_PREPARED = 1_000;
const TEXT_OID = 25;

/** Statements by text and types of their parameters, with the names under which a connection knows them. */
class Prepared {
  readonly #names = new Map<string, string>();
  #count = 0;

  /** The name of a statement, and under what to forget it if it has yet to be parsed. */
  find(step: SqlStep, types: readonly number[]): { readonly name: string; readonly key?: string } {
    const key = `${types.map((type) => (type === 0 ? "-" : "t")).join("")} ${step.text}`;
    const known = this.#names.get(key);
    if (known !== undefined) return { name: known };
    if (this.#names.size >= MOST_PREPARED) return { name: "", key };
    this.#count += 1;
    this.#names.set(key, `s${this.#count}`);
    return { name: `s${this.#count}`, key };
  }

  forget(key: string): void {
    this.#names.delete(key);
  }
}

/** Statements that are sent together, of which each runs if those before it did; a query of `pg`. */
class Batch implements pg.Submittable {
  readonly #steps: readonly SqlStep[];
  readonly #prepared: Prepared;
  readonly #done: (reply: LinkReply) => void;
  readonly #results: StepResult[] = [];
  /** What is parsed with them, by the statement that needs it first. */
  readonly #parsed: (readonly [index: number, key: string])[] = [];
  #fields: readonly Field[] = [];
  #rows: unknown[][] = [];
  /** A value that could not be read. */
  #unreadable: unknown;

  constructor(steps: readonly SqlStep[], prepared: Prepared, done: (reply: LinkReply) => void) {
    this.#steps = steps;
    this.#prepared = prepared;
    this.#done = done;
  }

  submit(connection: pg.Connection): void {
    const [first] = this.#steps;
    if (first && first.values === undefined) {
      connection.query(first.text);
      return;
    }
    connection.stream.cork();
    for (const [index, step] of this.#steps.entries()) this.#send(connection, step, index);
    connection.sync();
    connection.stream.uncork();
  }

  #send(connection: pg.Connection, step: SqlStep, index: number): void {
    const values = step.values ?? [];
    const types = values.map((value) => (typeof value === "string" ? TEXT_OID : 0));
    const { name, key } = this.#prepared.find(step, types);
    if (key !== undefined) {
      this.#parsed.push([index, key]);
      // Numbers, which the types of `pg` want as texts; it writes both alike.
      connection.parse({ name, text: step.text, types: types.map(String) }, true);
    }
    connection.bind({ statement: name, values: values.map(parameter), portal: "" }, true);
    if (step.rows) connection.describe({ type: "P", name: "" }, true);
    connection.execute({ portal: "", rows: "0" }, true);
  }

  handleRowDescription({ fields }: { readonly fields: readonly Field[] }): void {
    this.#fields = fields;
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    try {
      this.#rows.push(fields.map((text, at) => decoded(text, this.#fields[at]?.dataTypeID ?? TEXT_OID)));
    } catch (error) {
      this.#unreadable = error;
    }
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const changes = Number(/ (\d+)$/.exec(text)?.[1] ?? 0);
    this.#results.push({ changes, names: this.#fields.map(({ name }) => name), rows: this.#rows });
    this.#fields = [];
    this.#rows = [];
  }

  handleEmptyQuery(): void {
    this.#results.push({ changes: 0, names: [], rows: [] });
  }

  handleReadyForQuery(): void {
    const error = this.#unreadable === undefined ? {} : { error: linkError(this.#unreadable) };
    this.#done({ results: this.#results, ...error });
  }

  handleError(error: Error): void {
    // What was to be prepared after the statement that failed was not; whether that one was is not known.
    for (const [index, key] of this.#parsed) if (index >= this.#results.length) this.#prepared.forget(key);
    this.#done({ results: this.#results, error: linkError(error) });
  }

  /** Of a copy; none is ever asked for. */
  handleCopyInResponse(): void {}
  handlePortalSuspended(): void {}
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

function parameter(value: SqlValue): string | null | Buffer {
  if (value === null || typeof value === "string") return value;
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : String(value);
}

/** A value as SQLite would give it. */
function decoded(text: string | null, type: number): unknown {
  if (text === null) return null;
  switch (type) {
    case 16: // bool
      return text === "t" ? 1 : 0;
    case 17: // bytea; a buffer of its own, because one from Node's pool crosses to another thread with the whole pool
      return new Uint8Array(Buffer.from(text.slice(2), "hex"));
    case 20: // int8
    case 21:
    case 23:
    case 1700: // numeric, the sum of int8
      return integer(text);
    case 700:
    case 701:
      return Number(text);
    default:
      return text;
  }
}

function integer(text: string): number {
  const value = Number(text);
  if (!text.includes(".") && !Number.isSafeInteger(value))
    throw new RangeError(`the database holds a number that is too large: ${text}`);
  return value;
}

/** An error as it crosses threads. One of the server that ends the session is a lost connection. */
function linkError(error: unknown): LinkError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const severity = error instanceof Error && "severity" in error ? String(error.severity) : undefined;
  const lost = severity === undefined ? !(error instanceof RangeError) : /^(?:FATAL|PANIC)$/.test(severity);
  return { code, message: errorMessage(error), lost };
}

const NOT_CONNECTED: LinkError = { code: "", message: "there is no connection", lost: true };

function notify(notice: LinkNotice): void {
  parentPort?.postMessage(notice);
}

/** One connection, and the thread of the store that uses it. */
class Link {
  readonly #end: LinkEnd;
  readonly #data: ConnectorData;
  #client: pg.Client | undefined;
  #prepared = new Prepared();
  /** What waits for the statements before it, because `pg` takes one query at a time. */
  #waiting: (readonly SqlStep[])[] = [];
  #isRunning = false;

  constructor(end: LinkEnd, data: ConnectorData) {
    this.#end = end;
    this.#data = data;
    end.port.on("message", (request: LinkRequest) => void this.#serve(request));
  }

  async #serve(request: LinkRequest): Promise<void> {
    if (request.kind === "run") {
      this.#waiting.push(request.steps);
      this.#runNext();
    } else if (request.kind === "connect") this.#reply(await this.#connect(request.settings));
    else {
      await this.#client?.end().catch(() => undefined);
      this.#reply({ results: [] });
    }
  }

  async #connect(settings: readonly string[]): Promise<LinkReply> {
    this.#drop();
    const client = new pg.Client(clientConfig(this.#data));
    // Without a listener it would end the thread; whatever waits gets it too.
    client.on("error", () => this.#client === client && this.#drop());
    client.on("notification", ({ payload }) => notify({ changed: payload }));
    try {
      await client.connect();
      for (const setting of settings) await client.query(setting);
      this.#client = client;
      this.#prepared = new Prepared();
      notify({ changed: undefined });
      return { results: [] };
    } catch (error) {
      void client.end().catch(() => undefined);
      return { results: [], error: { ...linkError(error), lost: true } };
    }
  }

  #runNext(): void {
    const steps = this.#isRunning ? undefined : this.#waiting.shift();
    if (steps) this.#run(steps);
  }

  #run(steps: readonly SqlStep[]): void {
    const client = this.#client;
    if (!client) {
      this.#reply({ results: [], error: NOT_CONNECTED });
      this.#runNext();
      return;
    }
    this.#isRunning = true;
    let isOver = false;
    const done = (reply: LinkReply) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      if (reply.error?.lost && this.#client === client) this.#drop();
      this.#reply(reply);
      this.#isRunning = false;
      this.#runNext();
    };
    const timer = setTimeout(() => {
      const message = `the database did not answer within ${this.#data.answerMs} ms`;
      done({ results: [], error: { code: "ETIMEDOUT", message, lost: true } });
    }, this.#data.answerMs);
    try {
      client.query(new Batch(steps, this.#prepared, done));
    } catch (error) {
      done({ results: [], error: { ...linkError(error), lost: true } });
    }
  }

  #drop(): void {
    const client = this.#client;
    this.#client = undefined;
    // Not in order: the server may not answer any more.
    client?.connection.stream.destroy();
  }

  #reply(reply: LinkReply): void {
    this.#end.port.postMessage(reply);
    Atomics.add(this.#end.signal, REPLIES, 1);
    Atomics.notify(this.#end.signal, REPLIES);
  }
}

function clientConfig({ address, connectMs }: ConnectorData): pg.ClientConfig {
  const { host, port, user, password, database, tls } = address;
  return {
    ...{ host, port, user, database, keepAlive: true, connectionTimeoutMillis: connectMs },
    ...(password !== undefined && { password }),
    application_name: "reins",
    ssl: tls && {
      rejectUnauthorized: tls.verify,
      ...(tls.authorities !== undefined && { ca: tls.authorities }),
      ...(tls.verify && !tls.namesHost && { checkServerIdentity: () => undefined }),
    },
  };
}

const data: ConnectorData = workerData;
for (const end of data.links) new Link(end, data);
