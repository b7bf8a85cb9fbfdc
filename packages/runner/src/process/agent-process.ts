import { once } from "node:events";
import {
  exponentialBackoff,
  type JsonObject,
  type MessageFault,
  type MessageListener,
  MessageReader,
  MessageWriter,
  settlesWithin,
} from "@reins/kit";
import { ProcessError } from "../errors.ts";
import { type Confined, type ConfineOptions, confine } from "../sandbox/confine.ts";
import type { Owner } from "./owner.ts";
import type { Mark, TableVisibility } from "./process-table.ts";
import { type Launch, type Spawned, spawnMarked } from "./spawn.ts";
import { Family, type Swept } from "./sweep.ts";

/** How a process ended, with its stderr. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: KeptText;
}

/**
 * What the process table shows after a stop. `visibility` is how much of it was visible: with `namespace` nothing can have
 * escaped; for the others see {@link TableVisibility}.
 */
export interface StopReport extends Swept {
  /** Absent if the process itself could not be ended. */
  readonly exit?: ProcessExit;
  readonly visibility: TableVisibility | "namespace";
}

/** Options of an agent's process. */
export interface ProcessOptions extends ConfineOptions {
  readonly owner: Owner;
  /** Called for input that is not a message. */
  readonly onFault: (fault: MessageFault) => void;
  /** The longest line, either way; 32 MiB by default. */
  readonly maxLineBytes?: number;
  /** How many bytes of the start and of the end of stderr are kept; 16 KiB each by default. */
  readonly keptStderrBytes?: number;
}

const MAX_LINE_BYTES = 32 << 20;
const KEPT_STDERR_BYTES = 16 << 10;
const GRACE_MS = 4_000;
/** How long to wait for the pipes of a dead process: without progress, and while a listener is busy. */
const QUIET_MS = 500;
const BUSY_MS = 5_000;
/** How long to wait after SIGKILL. */
const KILLED_MS = 2_000;

/** An agent's process, which exchanges JSON objects, one per line. */
export class AgentProcess {
  readonly label: string;
  readonly pid: number;
  readonly #spawned: Spawned;
  readonly #family: Family;
  readonly #visibility: StopReport["visibility"];
  readonly #options: ProcessOptions;
  readonly #writer: MessageWriter;
  readonly #stderr: KeptOutput;
  readonly #dead: Promise<void>;
  readonly #exited: Promise<ProcessExit>;
  #reader: MessageReader | undefined;
  #swept: Promise<Swept> | undefined;
  /** Settles when cleaning up after the exit is done. */
  #finished: Promise<void> | undefined;
  #stopping: Promise<StopReport> | undefined;

  /** Starts a process. If the launch asks for confinement that cannot be had, it fails. */
  static async start(launch: Launch, options: ProcessOptions): Promise<AgentProcess> {
    if (process.platform === "win32")
      throw new ProcessError("unsupported", "Reins runs agents on Linux and macOS; on Windows, use WSL.");
    const { owner } = options;
    const releaseLifeline = owner.lifeline.extend();
    let confined: Confined | undefined;
    const release = async () => {
      releaseLifeline();
      await confined?.close();
    };
    try {
      if (launch.confinement) confined = await confine(launch, launch.confinement, options);
      const mark = owner.newMark();
      const spawned = await spawnMarked(confined?.launch ?? launch, mark);
      const family = new Family(spawned.pid, mark, owner.table, confined !== undefined);
      return new AgentProcess(launch, options, spawned, family, release);
    } catch (error) {
      await release();
      throw error;
    }
  }

  private constructor(
    launch: Launch,
    options: ProcessOptions,
    spawned: Spawned,
    family: Family,
    release: () => Promise<void>,
  ) {
    const { child, stdin, stdout, stderr } = spawned;
    this.label = launch.label;
    this.pid = family.leader;
    this.#spawned = spawned;
    this.#family = family;
    this.#visibility = launch.confinement ? "namespace" : options.owner.table.visibility;
    this.#options = options;
    this.#writer = new MessageWriter(stdin, options.maxLineBytes ?? MAX_LINE_BYTES);
    this.#stderr = new KeptOutput(options.keptStderrBytes ?? KEPT_STDERR_BYTES);
    stderr.on("data", (chunk: Buffer) => this.#stderr.push(chunk));
    // A broken pipe means that the process ends, which is handled below.
    for (const stream of [stdout, stderr]) stream.on("error", () => undefined);
    const stderrEnded = once(stderr, "close");
    const unhold = options.owner.lifeline.hold(this.pid);
    const exited = Promise.withResolvers<ProcessExit>();
    this.#exited = exited.promise;
    const dead = Promise.withResolvers<void>();
    this.#dead = dead.promise;
    const finish = async (code: number | null, signal: NodeJS.Signals | null) => {
      await this.#drain(stderrEnded);
      exited.resolve({ code, signal, stderr: this.stderr() });
      await this.#sweep();
      await release();
    };
    child.once("exit", (code, signal) => {
      // At once, before the number of the group can be reused.
      family.kill();
      unhold();
      this.#writer.close(`${this.label} has ended with ${signal ?? `code ${code}`}.`);
      this.#sweep().catch(() => undefined);
      this.#finished = finish(code, signal);
      // `stop` reports errors.
      this.#finished.catch(() => undefined);
      dead.resolve();
    });
  }

  /**
   * Settles once the process is dead and its output has been delivered. Never rejects. What it left running is being
   * killed by then; {@link stop} reports the outcome.
   */
  get exited(): Promise<ProcessExit> {
    return this.#exited;
  }

  /** Sets the listener of messages. Nothing is read before. */
  onMessage(listener: MessageListener): void {
    if (this.#reader) throw new Error("This process already has a listener.");
    const { maxLineBytes = MAX_LINE_BYTES, onFault } = this.#options;
    this.#reader = new MessageReader(this.#spawned.stdout, maxLineBytes, {
      message: listener,
      fault: onFault,
    });
  }

  /** Sends a message; resolves when there is room for another, rejects if the process is gone. */
  send(message: JsonObject): Promise<void> {
    return this.#writer.send(message);
  }

  /** The mark of the process and its descendants. */
  get mark(): Mark {
    return this.#family.mark;
  }

  /** The stderr so far. */
  stderr(): KeptText {
    return this.#stderr.read();
  }

  /**
   * Ends the process and its descendants: closes its input, sends SIGTERM to all after half of the grace, SIGKILL after
   * all of it.
   */
  stop({ graceMs = GRACE_MS }: { readonly graceMs?: number } = {}): Promise<StopReport> {
    this.#stopping ??= this.#stop(graceMs);
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<StopReport> {
    if (this.#swept === undefined) await this.#family.look();
    this.#writer.end();
    if (!(await settlesWithin(this.#dead, graceMs / 2))) {
      await this.#family.terminate();
      if (!(await settlesWithin(this.#dead, graceMs / 2))) this.#family.kill();
    }
    const dead = await settlesWithin(this.#dead, KILLED_MS);
    const swept = await this.#sweep();
    await this.#finished;
    return { ...swept, visibility: this.#visibility, ...(dead && { exit: await this.#exited }) };
  }

  #sweep(): Promise<Swept> {
    this.#swept ??= this.#family.end();
    return this.#swept;
  }

  /** Waits for the rest of the pipes; not for long, because another process may hold them open. */
  async #drain(stderrEnded: Promise<unknown>): Promise<void> {
    const ended = Promise.all([this.#reader?.ended, stderrEnded]);
    if (!(await settlesWithin(ended, QUIET_MS)) && this.#reader?.delivering)
      await settlesWithin(this.#reader.ended, BUSY_MS);
    this.#reader?.close();
    this.#spawned.stdout.destroy();
    this.#spawned.stderr.destroy();
  }
}

/** What was kept of an output: its beginning, its end, and how many bytes between them were not. */
export interface KeptText {
  readonly head: string;
  readonly tail: string;
  readonly omitted: number;
}

/** Keeps the beginning and the end of a stream of bytes, so many of each. */
export class KeptOutput {
  readonly #bound: number;
  #head: Buffer = Buffer.alloc(0);
  #tail: Buffer[] = [];
  #tailLength = 0;
  #omitted = 0;

  constructor(bound: number) {
    this.#bound = bound;
  }

  /** Takes the next bytes. */
  push(chunk: Buffer): void {
    const room = this.#bound - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    const rest = chunk.subarray(Math.max(0, room));
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailLength += rest.length;
    // Joined now and then, not for each chunk, so that many small ones cost no more than they hold.
    if (this.#tailLength > 2 * this.#bound || this.#tail.length > 1_000) this.#trim();
  }

  /** What is kept now. */
  read(): KeptText {
    this.#trim();
    const [tail] = this.#tail;
    return {
      head: this.#head.toString(),
      tail: tail?.toString() ?? "",
      omitted: this.#omitted,
    };
  }

  #trim(): void {
    const joined = Buffer.concat(this.#tail);
    const dropped = Math.max(0, joined.length - this.#bound);
    // A copy: a part of a chunk would keep the whole of it.
    this.#tail = [Buffer.from(joined.subarray(dropped))];
    this.#tailLength = joined.length - dropped;
    this.#omitted += dropped;
  }
}

/** When a crashed program is restarted. Times are in milliseconds. */
export interface RestartPolicy {
  /** The wait after the first crash; each further one doubles it. */
  readonly firstMs: number;
  readonly mostMs: number;
  /** Crashes longer ago than this are forgotten. */
  readonly memoryMs: number;
  /** After so many remembered crashes it is not restarted until the oldest is forgotten. */
  readonly limit: number;
}

/** When a program may be started again. */
export interface Restart {
  /** Not before this time; in the past if it may at once. */
  readonly at: number;
  /** Whether the limit has been reached: a person should look. */
  readonly givenUp: boolean;
}

const USUAL: RestartPolicy = { firstMs: 500, mostMs: 60_000, memoryMs: 600_000, limit: 8 };

/** Computes when a crashed program may be restarted. Pure: times are passed in. */
export class Restarts {
  readonly #policy: RestartPolicy;

  constructor(policy: Partial<RestartPolicy> = {}) {
    this.#policy = { ...USUAL, ...policy };
  }

  /** Adds a crash and drops those that are too old; newest last. */
  remember(crashes: readonly number[], crashed: number): number[] {
    const { memoryMs, limit } = this.#policy;
    return [...crashes, crashed].filter((at) => crashed - at < memoryMs).slice(-limit);
  }

  /** When to start again after these crashes, the newest last. */
  next(crashes: readonly number[]): Restart {
    const { memoryMs, limit } = this.#policy;
    const newest = crashes.at(-1);
    if (newest === undefined) return { at: Number.NEGATIVE_INFINITY, givenUp: false };
    const recent = crashes.filter((at) => newest - at < memoryMs);
    const [oldest = newest] = recent.slice(-limit);
    if (recent.length >= limit) return { at: oldest + memoryMs, givenUp: true };
    return { at: newest + exponentialBackoff(this.#policy, recent.length), givenUp: false };
  }
}
