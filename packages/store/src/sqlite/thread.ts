// The code of both threads of the store: the writer, which owns the database, and the reader beside it.
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { StoreError } from "../store-error.ts";
import { loadModules, Opened } from "./opened.ts";
import {
  type ApplyRequest,
  Inbox,
  type OtherRequest,
  Replies,
  type Request,
  type Task,
  type ThreadData,
} from "./threads.ts";

/** After so long without a write, maintenance runs. */
const QUIET_MS = 100;

const data: ThreadData = workerData;
const port = parentPort;
if (!port) throw new StoreError("invalid", "this is the code of a thread, which the store starts");

// Begun at once, so that the reader does it while the writer opens the database. A failure is reported to the first request.
const loading = loadModules(data);
loading.catch(() => undefined);
const inbox = new Inbox(data.maxBatch);
const replies = new Replies(port);
let opening: Promise<Opened> | undefined;
let opened: Opened | undefined;
let working = false;
/** Goes off when nothing was written for a while. */
let quiet: NodeJS.Timeout | undefined;

/** Reads everything that has arrived; Node itself passes on one request after the other. */
const receiveAll = (): void => {
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port))
    inbox.add(next.message);
};

port.on("message", (request: Request) => {
  inbox.add(request);
  if (!working) queueMicrotask(work);
  working = true;
});

/** Does one thing and lets the event loop turn before the next, so that a backup continues between batches. */
function work(): void {
  receiveAll();
  const next = inbox.take();
  working = next !== undefined;
  if (!next) return;
  if (opened) carryOut(opened, next);
  else void openFor(next);
}

async function openFor(first: Task): Promise<void> {
  opening ??= loading.then((modules) => Opened.open(data, modules));
  try {
    opened = await opening;
    carryOut(opened, first);
  } catch (error) {
    refuse(first, error);
    scheduleNext();
  }
}

/** Without a promise: this runs for every batch, and callers wait for most of them. */
function carryOut(database: Opened, task: Task): void {
  try {
    if ("kind" in task) serve(database, task);
    else {
      applyTogether(database, task);
      database.shorten();
      receiveAll();
      if (inbox.isEmpty) rest(database);
    }
  } catch (error) {
    refuse(task, error);
  }
  scheduleNext();
}

function rest(database: Opened): void {
  database.rest();
  if (quiet) quiet.refresh();
  else quiet = setTimeout(() => void (database.tidy() && quiet?.refresh()), QUIET_MS);
}

function refuse(task: Task, error: unknown): void {
  for (const { id } of "kind" in task ? [task] : task) replies.fail(id, error);
}

function scheduleNext(): void {
  receiveAll();
  working = !inbox.isEmpty;
  if (working) setImmediate(work);
}

function serve(database: Opened, request: OtherRequest): void {
  const { id, kind } = request;
  if (kind === "query") replies.answer(id, database.query(request.tables, request.name, request.args));
  else if (kind === "backup") copy(database, id, request.path);
  else if (kind === "scrub") replies.answer(id, database.scrub());
  else if (kind === "close") void close(database, id);
  else replies.answer(id, database.losses);
}

/** Backups in progress, until their caller has the reply. */
const copying = new Set<Promise<void>>();

function copy(database: Opened, id: number, path: string): void {
  const copied = backup(database, id, path).finally(() => copying.delete(copied));
  copying.add(copied);
}

/** Closes the database. A copy that is not whole is given up; one that is has its name before the thread ends. */
async function close(database: Opened, id: number): Promise<void> {
  try {
    database.close();
    await Promise.all(copying);
    replies.answer(id, undefined);
  } catch (error) {
    replies.fail(id, error);
  }
}

async function backup(database: Opened, id: number, path: string): Promise<void> {
  try {
    replies.answer(id, await database.backup(path));
  } catch (error) {
    replies.fail(id, error);
  }
}

function applyTogether(database: Opened, requests: readonly ApplyRequest[]): void {
  const [only] = requests;
  if (only && requests.length === 1) {
    replies.applied(only.id, database.apply(only.writes));
    return;
  }
  const outcomes = database.apply(requests.flatMap(({ writes }) => writes));
  let sent = 0;
  for (const { id, writes } of requests) {
    replies.applied(id, outcomes.slice(sent, sent + writes.length));
    sent += writes.length;
  }
}
