import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";
import { hasCode } from "@reins/kit";
import { z } from "zod";
import type { AgentProcess } from "../process/agent-process.ts";
import type { Mark, MarkPrefix } from "../process/process-table.ts";
import { type KillOrder, KillReport, killJournalIn, killSocketIn } from "./journal.ts";
import type { FromKillThread, KillThreadData, ToKillThread } from "./kill-thread.ts";

/** Where the code of the thread is, whether it runs from source or was built. */
const CODE = import.meta.url.endsWith(".ts")
  ? new URL("./kill-thread.ts", import.meta.url)
  : new URL("./kill-thread.js", import.meta.url);

export interface KillSwitchOptions {
  readonly home: string;
  readonly registry: ProcessRegistry;
  readonly prefix: MarkPrefix;
  /** Called with the sessions whose agents are about to be killed. */
  readonly onEnding: (sessions: readonly string[]) => void;
  /** Records a report and ends what only the host can end; returns the id of the ledger entry. */
  readonly onKilled: (report: KillReport) => Promise<string>;
  readonly onError: (error: unknown) => void;
}

/** Kills agents from a thread of its own, which runs even when this one is blocked. */
export class KillSwitch {
  readonly #options: KillSwitchOptions;
  readonly #worker: Worker;
  readonly #unsubscribe: () => void;
  #isDead = false;
  #echoes = 0;
  readonly #echoing = new Map<number, () => void>();
  readonly #waiting = new Map<string, (answer: Promise<Killed | undefined>) => void>();

  private constructor(options: KillSwitchOptions, worker: Worker) {
    this.#options = options;
    this.#worker = worker;
    worker.on("message", (message: FromKillThread) => this.#receive(message));
    worker.on("error", options.onError);
    worker.once("exit", () => this.#ended());
    this.#unsubscribe = options.registry.subscribe((change) => this.#send(change));
  }

  /** Starts the thread and waits until it listens. */
  static async open(options: KillSwitchOptions): Promise<KillSwitch> {
    const { home, prefix } = options;
    const data: KillThreadData = { socket: killSocketIn(home), journal: killJournalIn(home), prefix };
    const worker = new Worker(CODE, { workerData: data });
    worker.unref();
    const [first]: FromKillThread[] = await once(worker, "message");
    if (first && "failed" in first) {
      await worker.terminate();
      throw new Error(`agents could not be ended from outside: ${first.failed}`);
    }
    return new KillSwitch(options, worker);
  }

  /** Executes an order; returns undefined if no agent matches. */
  kill(order: KillOrder): Promise<Killed | undefined> {
    if (this.#isDead) return Promise.reject(dead());
    const { promise, resolve } = Promise.withResolvers<Killed | undefined>();
    this.#waiting.set(order.id, resolve);
    this.#worker.ref();
    this.#send({ order });
    return promise.finally(() => this.#worker.unref());
  }

  /**
   * Resolves when `onEnding` was called for every process that is already dead by an order: an end that came by an order
   * differs from one that did not.
   */
  caughtUp(): Promise<void> {
    if (this.#isDead) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#echoes += 1;
    this.#echoing.set(this.#echoes, resolve);
    this.#send({ echo: this.#echoes });
    return promise;
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#worker.terminate();
  }

  #ended(): void {
    this.#isDead = true;
    for (const resolve of this.#echoing.values()) resolve();
    for (const id of [...this.#waiting.keys()]) this.#settle(id, Promise.reject(dead()));
  }

  #receive(message: FromKillThread): void {
    if ("failed" in message) this.#options.onError(new Error(message.failed));
    else if ("ending" in message) this.#options.onEnding(message.ending);
    else if ("echo" in message) this.#echoed(message.echo);
    else if ("nothing" in message) this.#settle(message.nothing, Promise.resolve(undefined));
    else if ("broken" in message) this.#settle(message.broken, Promise.reject(new Error(message.reason)));
    else if ("report" in message) this.#settle(message.report.id, this.#killed(message.report));
  }

  #echoed(number: number): void {
    this.#echoing.get(number)?.();
    this.#echoing.delete(number);
  }

  async #killed(report: KillReport): Promise<Killed> {
    try {
      const entry = await this.#options.onKilled(report);
      this.#send({ recorded: report.id, entry });
      return { report, entry };
    } catch (error) {
      // The journal has it; the next start records it.
      this.#options.onError(error);
      return { report, entry: null };
    }
  }

  #settle(id: string, answer: Promise<Killed | undefined>): void {
    answer.catch(() => undefined);
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }

  #send(message: ToKillThread): void {
    this.#worker.postMessage(message);
  }
}

function dead(): Error {
  return new Error("the thread that ends agents has ended; restart Reins");
}

/** The report of an executed order, and its ledger entry; null if it could not be written yet. */
export interface Killed {
  readonly report: KillReport;
  readonly entry: string | null;
}

const Answer = z.union([
  z.object({ report: KillReport.extend({ entry: z.string().nullable() }) }),
  z.object({ nothing: z.string() }),
  z.object({ refused: z.string() }),
]);

/** The outcome of a request; `nothing`: no agent matches, `no_listener`: no Reins answers on the socket. */
export type KillAnswer = Killed | "nothing" | "no_listener";

/** Sends an order to the kill thread, which answers even if Reins itself is blocked. */
export async function requestKill(path: string, order: KillOrder, signal: AbortSignal): Promise<KillAnswer> {
  const socket = connect(path);
  try {
    await once(socket, "connect", { signal });
    socket.write(`${JSON.stringify(order)}\n`);
    const lines = createInterface({ input: socket });
    const closed = once(lines, "close", { signal }).then(() => []);
    const [line] = await Promise.race([once(lines, "line", { signal }), closed]);
    // The listener died before it answered.
    if (line === undefined) return "no_listener";
    const answer = Answer.parse(JSON.parse(String(line)));
    if ("refused" in answer) throw new Error(answer.refused);
    if ("nothing" in answer) return "nothing";
    const { entry, ...report } = answer.report;
    return { report, entry };
  } catch (error) {
    if (hasCode(error, "ENOENT", "ECONNREFUSED")) return "no_listener";
    throw error;
  } finally {
    socket.destroy();
  }
}

/** A change of the registry: an agent as it is now, or the id of one that ended. */
export type RegistryChange = { readonly now: LiveProcess } | { readonly ended: string };

interface Registered {
  live: LiveProcess;
  readonly process: AgentProcess | undefined;
}

/** The running agents. */
export class ProcessRegistry {
  readonly #registered = new Map<string, Registered>();
  readonly #listeners = new Set<(change: RegistryChange) => void>();
  #count = 0;

  /** Adds a running agent; `process` is absent if it has none of its own. */
  add(found: Omit<LiveProcess, "id" | "sessions" | "pid" | "roots">, process?: AgentProcess): string {
    this.#count += 1;
    const { pid = null, mark } = process ?? {};
    const id = pid === null ? `inside-${this.#count}` : String(pid);
    const roots = pid === null || !mark ? [] : [{ pid, mark }];
    this.#keep({ live: { ...found, id, pid, roots, sessions: [] }, process });
    return id;
  }

  /** Adds a process that an agent started; returns a function that removes it. */
  root(id: string, root: ProcessRoot): () => void {
    this.#change(id, ({ roots }) => ({ roots: [...roots, root] }));
    return () => this.#change(id, ({ roots }) => ({ roots: roots.filter((one) => one !== root) }));
  }

  /** Sets the sessions of an agent. */
  hold(id: string, sessions: readonly string[]): void {
    this.#change(id, () => ({ sessions }));
  }

  /** Removes an agent that has ended. */
  remove(id: string): void {
    if (!this.#registered.delete(id)) return;
    for (const listener of this.#listeners) listener({ ended: id });
  }

  /** The running agents. */
  get all(): readonly LiveProcess[] {
    return [...this.#registered.values()].map(({ live }) => live);
  }

  /** Returns the process of an agent, if it has one of its own. */
  processOf(id: string): AgentProcess | undefined {
    return this.#registered.get(id)?.process;
  }

  /** Calls a listener for every agent, then for every change; returns the unsubscribe function. */
  subscribe(listener: (change: RegistryChange) => void): () => void {
    for (const { live } of this.#registered.values()) listener({ now: live });
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #change(id: string, change: (live: LiveProcess) => Partial<LiveProcess>): void {
    const known = this.#registered.get(id);
    if (known) this.#keep({ ...known, live: { ...known.live, ...change(known.live) } });
  }

  #keep(registered: Registered): void {
    this.#registered.set(registered.live.id, registered);
    for (const listener of this.#listeners) listener({ now: registered.live });
  }
}

/** A process that leads a group of its own; its descendants carry its mark. */
export interface ProcessRoot {
  readonly pid: number;
  readonly mark: Mark;
}

/** What it takes to kill a running agent. Plain data, because another thread holds it. */
export interface LiveProcess {
  /** Unique while it runs. */
  readonly id: string;
  readonly agent: string;
  /** Null for an agent inside this process. */
  readonly pid: number | null;
  /** Its own process, or the commands it runs now. */
  readonly roots: readonly ProcessRoot[];
  readonly tenant: string;
  /** The id of its principal. */
  readonly principal: string;
  readonly confined: boolean;
  /** The ids of its sessions. */
  readonly sessions: readonly string[];
  /** RFC 3339. */
  readonly started_at: string;
}
