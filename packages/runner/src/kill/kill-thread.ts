// The thread that kills agents while the main thread is blocked. It knows which run, and listens on a socket of its own.
import { chmodSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { parentPort, workerData } from "node:worker_threads";
import { errorMessage } from "@reins/kit";
import { type MarkPrefix, systemTable } from "../process/process-table.ts";
import { exactOrder, executeKill, targetsOf } from "./execute-kill.ts";
import { KillJournal, KillOrder, type KillReport } from "./journal.ts";
import type { LiveProcess, RegistryChange } from "./kill-switch.ts";

/** What the thread is started with. */
export interface KillThreadData {
  readonly socket: string;
  readonly journal: string;
  readonly prefix: MarkPrefix;
}

/** Messages to the thread. */
export type ToKillThread =
  | RegistryChange
  | { readonly order: KillOrder }
  /** Asks for an `echo`: what the thread said before it has then been received. */
  | { readonly echo: number }
  | { readonly recorded: string; readonly entry: string };

/** Messages from the thread. */
export type FromKillThread =
  | { readonly listening: true }
  | { readonly failed: string }
  | { readonly nothing: string }
  | { readonly echo: number }
  /** An order that failed. */
  | { readonly broken: string; readonly reason: string }
  /** The sessions of agents that are about to be killed. */
  | { readonly ending: readonly string[] }
  | { readonly report: KillReport };

/** How long a response waits for the ledger entry before it is sent without one. */
const ENTRY_MS = 1_500;
const LONGEST_LINE = 16 * 1024;

const { socket: path, journal: file, prefix }: KillThreadData = workerData;
const live = new Map<string, LiveProcess>();
const journal = new KillJournal(file);
const waiting = new Map<string, (entry: string) => void>();
const ground = { table: systemTable, prefix, now: () => new Date() };

parentPort?.on("message", (message: ToKillThread) => {
  if ("now" in message) live.set(message.now.id, message.now);
  else if ("ended" in message) live.delete(message.ended);
  else if ("echo" in message) send(message);
  else if ("order" in message) void kill(message.order).catch((error) => broke(message.order, error));
  else {
    waiting.get(message.recorded)?.(message.entry);
    journaled(() => journal.recorded(message.recorded));
  }
});

/** Executes an order; returns undefined if no agent matches. */
async function kill(given: KillOrder): Promise<KillReport | undefined> {
  const order = exactOrder(given, [...live.values()]);
  const targets = targetsOf(order, [...live.values()]);
  if (targets.length === 0 && order.target.kind !== "all") {
    send({ nothing: order.id });
    return undefined;
  }
  journaled(() => journal.ordered(order, ground.now()));
  send({ ending: targets.flatMap(({ sessions }) => sessions) });
  const report = await executeKill(order, targets, ground);
  journaled(() => journal.reported(report));
  send({ report });
  return report;
}

/** Writes to the journal. A full disk does not prevent a kill. */
function journaled(note: () => void): void {
  try {
    note();
  } catch (error) {
    send({ failed: `a kill could not be noted: ${errorMessage(error)}` });
  }
}

function broke({ id }: KillOrder, error: unknown): void {
  send({ broken: id, reason: errorMessage(error) });
}

function send(message: FromKillThread): void {
  parentPort?.postMessage(message);
}

const server = createServer((client) => void serve(client));
server.on("error", (error) => send({ failed: error.message }));
// An earlier run may have left it behind; this process holds the lock of the home.
rmSync(path, { force: true });
const mask = process.platform === "win32" ? undefined : 0o600;
server.listen(path, () => {
  if (mask !== undefined) chmodSync(path, mask);
  send({ listening: true });
});

/** Answers each order, one per line, with a line. Only the operator can open the socket. */
async function serve(client: Socket): Promise<void> {
  client.on("error", () => client.destroy());
  let taken = 0;
  client.on("data", (chunk) => {
    taken += chunk.length;
    if (taken > LONGEST_LINE) client.destroy();
  });
  for await (const line of createInterface({ input: client })) {
    client.write(`${JSON.stringify(await respond(line))}\n`);
    client.end();
    return;
  }
}

async function respond(line: string): Promise<object> {
  const order = orderIn(line);
  if (!order) return { refused: "this is no order" };
  try {
    const entry = entryOf(order.id);
    const report = await kill(order);
    if (!report) return { nothing: order.id };
    return { report: { ...report, entry: await entry } };
  } catch (error) {
    return { refused: errorMessage(error) };
  }
}

/** Waits for the ledger entry of an order, up to a timeout. */
function entryOf(id: string): Promise<string | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle(null), ENTRY_MS);
    const settle = (entry: string | null) => {
      clearTimeout(timer);
      waiting.delete(id);
      resolve(entry);
    };
    waiting.set(id, settle);
  });
}

function orderIn(line: string): KillOrder | undefined {
  try {
    return KillOrder.safeParse(JSON.parse(line)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
