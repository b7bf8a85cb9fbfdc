// The thread that ends agents while Reins itself is too busy to: it knows which run, and listens on a socket of its own.
import { chmodSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { parentPort, workerData } from "node:worker_threads";
import type { MarkPrefix } from "../process/mark.ts";
import { systemTable } from "../process/process-table.ts";
import { exactOrder, executeKill, targetsOf } from "./execute-kill.ts";
import { KillJournal } from "./journal.ts";
import { KillOrder, type KillReport } from "./order.ts";
import type { LiveProcess, RegisterNews } from "./process-registry.ts";

/** What the thread is started with. */
export interface KillThreadData {
  readonly socket: string;
  readonly journal: string;
  readonly prefix: MarkPrefix;
}

/** What it is told. */
export type ToKillThread =
  | RegisterNews
  | { readonly order: KillOrder }
  | { readonly recorded: string; readonly entry: string };

/** What it tells. */
export type FromKillThread =
  | { readonly listening: true }
  | { readonly failed: string }
  | { readonly nothing: string }
  /** An order that could not be carried out, or not to its end. */
  | { readonly broken: string; readonly reason: string }
  /** The sessions of agents that are about to be ended. */
  | { readonly ending: readonly string[] }
  | { readonly report: KillReport };

/** How long whoever ordered waits for the entry; without it they learn that it comes later. */
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
  else if ("order" in message) void kill(message.order).catch((error) => broke(message.order, error));
  else {
    waiting.get(message.recorded)?.(message.entry);
    noted(() => journal.recorded(message.recorded));
  }
});

/** Carries an order out; nothing is done for one that is about nobody. */
async function kill(given: KillOrder): Promise<KillReport | undefined> {
  const order = exactOrder(given, [...live.values()]);
  const targets = targetsOf(order, [...live.values()]);
  if (targets.length === 0 && order.target.kind !== "all") {
    tell({ nothing: order.id });
    return undefined;
  }
  noted(() => journal.ordered(order, ground.now()));
  tell({ ending: targets.flatMap(({ sessions }) => sessions) });
  const report = await executeKill(order, targets, ground);
  noted(() => journal.reported(report));
  tell({ report });
  return report;
}

/** Notes something in the journal. A disk that is full keeps nothing from being ended. */
function noted(note: () => void): void {
  try {
    note();
  } catch (error) {
    tell({ failed: `a kill could not be noted: ${textOf(error)}` });
  }
}

function broke({ id }: KillOrder, error: unknown): void {
  tell({ broken: id, reason: textOf(error) });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function tell(message: FromKillThread): void {
  parentPort?.postMessage(message);
}

const server = createServer((client) => void serve(client));
server.on("error", (error) => tell({ failed: error.message }));
// One that an earlier run left behind; whoever got here holds the home.
rmSync(path, { force: true });
const mask = process.platform === "win32" ? undefined : 0o600;
server.listen(path, () => {
  if (mask !== undefined) chmodSync(path, mask);
  tell({ listening: true });
});

/** Answers each line, which is an order, with a line. Whoever can open the socket is the operator. */
async function serve(client: Socket): Promise<void> {
  client.on("error", () => client.destroy());
  let taken = 0;
  client.on("data", (chunk) => {
    taken += chunk.length;
    if (taken > LONGEST_LINE) client.destroy();
  });
  for await (const line of createInterface({ input: client })) {
    client.write(`${JSON.stringify(await answerTo(line))}\n`);
    client.end();
    return;
  }
}

async function answerTo(line: string): Promise<object> {
  const order = orderIn(line);
  if (!order) return { refused: "this is no order" };
  try {
    const entry = entryOf(order.id);
    const report = await kill(order);
    if (!report) return { nothing: order.id };
    return { report: { ...report, entry: await entry } };
  } catch (error) {
    return { refused: textOf(error) };
  }
}

/** The ledger entry of an order, if Reins writes it soon. */
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
