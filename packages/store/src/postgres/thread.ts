// The code of the threads of a store in PostgreSQL: one writes, some read. They wait for the thread that is connected.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { loadModules } from "../sqlite/opened.ts";
import {
  type ApplyRequest,
  failed,
  Inbox,
  type OtherRequest,
  Replies,
  type Request,
  translate,
} from "../sqlite/threads.ts";
import { StoreError, type StoreErrorCode } from "../store-error.ts";
import { PostgresReader, type PostgresThreadData, PostgresWriter } from "./opened.ts";

/** After so long without a write, maintenance runs. */
const QUIET_MS = 100;
/** Between attempts to connect again. */
const RETRY_MS = [50, 100, 200, 500, 1_000, 2_000] as const;
/** With these there is no use in connecting again. */
const FINAL: readonly StoreErrorCode[] = ["io", "lost", "corrupt", "newer", "invalid"];

const data: PostgresThreadData = workerData;
const port = parentPort;
if (!port) throw new StoreError("invalid", "this is the code of a thread, which the store starts");
const loading = loadModules(data);
loading.catch(() => undefined);
const inbox = new Inbox(data.maxBatch);
const replies = new Replies(port);

const receiveAll = (): void => {
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
    inbox.add(next.message);
};

/** Does one thing after the other; commits that gathered meanwhile together. */
function serveAll(
  apply: (batch: readonly ApplyRequest[]) => void,
  serve: (one: OtherRequest) => Promise<unknown>,
) {
  let isWorking = false;
  const work = async (): Promise<void> => {
    for (receiveAll(); !inbox.isEmpty; receiveAll()) {
      const task = inbox.take();
      if (!task) break;
      if ("kind" in task) await answer(task, serve);
      else apply(task);
      await nextTurn();
    }
    isWorking = false;
  };
  port?.on("message", (request: Request) => {
    inbox.add(request);
    if (isWorking) return;
    isWorking = true;
    queueMicrotask(work);
  });
}

async function answer(request: OtherRequest, serve: (one: OtherRequest) => Promise<unknown>): Promise<void> {
  try {
    replies.answer(request.id, await serve(request));
  } catch (error) {
    replies.fail(request.id, error);
  }
}

if (data.role === "writer") write();
else read();

function write(): void {
  let writer: PostgresWriter | undefined;
  /** Why nothing can be written any more. */
  let broken: StoreError | undefined;
  let isResuming = false;
  let isClosed = false;
  /** A batch of which it has yet to be seen whether it was kept. */
  let unresolved: readonly ApplyRequest[] | undefined;
  let quiet: NodeJS.Timeout | undefined;
  let renewing: NodeJS.Timeout | undefined;

  const refuse = (batch: readonly ApplyRequest[], error: StoreError): void => {
    for (const { id, writes } of batch)
      replies.applied(
        id,
        writes.map(() => failed(error)),
      );
  };
  const isDown = (isIt: boolean): void => void Atomics.store(data.status, 0, isIt ? 1 : 0);

  const settleUnresolved = (
    wasKept: boolean,
    outcomes: PostgresWriter["unresolved"],
    error: StoreError,
  ): void => {
    const batch = unresolved ?? [];
    unresolved = undefined;
    if (wasKept) replyTo(batch, outcomes?.outcomes ?? []);
    else refuse(batch, error);
  };

  async function resume(open: PostgresWriter): Promise<void> {
    if (isResuming) return;
    isResuming = true;
    isDown(true);
    for (let attempt = 0; !isClosed && !broken; attempt += 1) {
      const before = open.unresolved;
      try {
        settleUnresolved(await open.resume(), before, NOT_KEPT);
        isDown(false);
        break;
      } catch (error) {
        const fault = translate(error);
        if (FINAL.includes(fault.code)) {
          broken = fault;
          settleUnresolved(false, undefined, new StoreError("io", `${fault.message}; ${UNKNOWN}`));
        } else await sleep(RETRY_MS[attempt] ?? 5_000);
      }
    }
    isResuming = false;
  }

  const apply = (batch: readonly ApplyRequest[]): void => {
    if (broken || !writer || isResuming) {
      refuse(batch, broken ?? AWAY);
      return;
    }
    const outcomes = writer.apply(batch.flatMap(({ writes }) => writes));
    if (writer.unresolved?.outcomes.length === outcomes.length) unresolved = batch;
    else replyTo(batch, outcomes);
    if (writer.isLost) void resume(writer);
    else if (quiet) quiet.refresh();
    else quiet = setTimeout(() => whenIdle((open) => open.tidy()), QUIET_MS);
  };

  const whenIdle = (run: (open: PostgresWriter) => void): void => {
    if (!writer || isResuming || isClosed || broken || !inbox.isEmpty) return;
    try {
      run(writer);
    } catch (error) {
      if (translate(error).code === "io") broken = translate(error);
    }
    if (writer.isLost) void resume(writer);
  };

  const close = async (): Promise<void> => {
    isClosed = true;
    clearInterval(renewing);
    clearTimeout(quiet);
    settleUnresolved(false, undefined, new StoreError("io", `the database cannot be reached; ${UNKNOWN}`));
    if (!isResuming) await writer?.close();
  };

  serveAll(apply, async ({ kind }) => {
    if (kind === "open") {
      const opening = new PostgresWriter(data, await loading);
      try {
        const losses = await opening.open();
        writer = opening;
        renewing = setInterval(() => whenIdle((open) => open.renew()), opening.renewMs);
        return losses;
      } catch (error) {
        await opening.close();
        throw error;
      }
    }
    if (kind === "scrub") writer?.scrub();
    else if (kind === "close") await close();
    else throw new StoreError("invalid", `the writer of a database in PostgreSQL has no ${kind}`);
    return undefined;
  });
}

/** The outcomes of a batch to those who asked for its parts. */
function replyTo(batch: readonly ApplyRequest[], outcomes: Parameters<Replies["applied"]>[1]): void {
  let sent = 0;
  for (const { id, writes } of batch) {
    replies.applied(id, outcomes.slice(sent, sent + writes.length));
    sent += writes.length;
  }
}

const AWAY = new StoreError(
  "unavailable",
  "the database cannot be reached, and nothing of this was kept; try again later",
);
const NOT_KEPT = new StoreError(
  "unavailable",
  "the connection to the database was lost, and nothing of this was kept",
);
const UNKNOWN = "whether the last commits were kept shows when the store is opened anew";

function read(): void {
  let reader: PostgresReader | undefined;
  let failedAt = 0;

  /** Connects again, but not with every query while the database is away. */
  const connected = async (): Promise<PostgresReader> => {
    if (reader && !reader.isLost) return reader;
    const open = reader ?? new PostgresReader(data, await loading);
    if (reader && performance.now() - failedAt < 200) throw AWAY;
    try {
      await open.open();
    } catch (error) {
      failedAt = performance.now();
      throw error;
    }
    reader = open;
    return open;
  };
  const query = async (request: Extract<OtherRequest, { kind: "query" }>): Promise<unknown> => {
    const open = await connected();
    const run = (by: PostgresReader) => by.query(request.tables, request.name, request.args);
    try {
      return run(open);
    } catch (error) {
      if (!open.isLost) throw error;
      return run(await connected());
    }
  };
  serveAll(
    () => undefined,
    async (request) => {
      if (request.kind === "query") return await query(request);
      if (request.kind === "open") await connected();
      else if (request.kind === "close") await reader?.close();
      else throw new StoreError("invalid", `a reader of a database in PostgreSQL has no ${request.kind}`);
      return undefined;
    },
  );
}
