import { once } from "node:events";
import {
  type JsonObject,
  type MessageFault,
  type MessageListener,
  MessageReader,
  MessageWriter,
  settlesWithin,
} from "@reins/kit";
import { ProcessError } from "../errors.ts";
import { type Confined, type ConfineOptions, confine } from "../sandbox/confine.ts";
import { KeptOutput, type KeptText } from "./kept-output.ts";
import type { Mark } from "./mark.ts";
import type { Owner } from "./owner.ts";
import type { TableSight } from "./process-table.ts";
import { type Launch, type Spawned, spawnMarked } from "./spawn.ts";
import { Family, type Swept } from "./sweep.ts";

/** How a process ended, and what it complained of. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: KeptText;
}

/**
 * What the operating system says after a stop. `sight` tells how far we could look: with `namespace` nothing can have
 * escaped; the others are explained at {@link TableSight}.
 */
export interface StopReport extends Swept {
  /** Absent if even the process itself could not be ended. */
  readonly exit?: ProcessExit;
  readonly sight: TableSight | "namespace";
}

/** What an agent's process needs beside its launch. */
export interface ProcessOptions extends ConfineOptions {
  readonly owner: Owner;
  /** Told of whatever comes in that is not a message. */
  readonly onFault: (fault: MessageFault) => void;
  /** The longest line, either way; 32 MiB by default. */
  readonly maxLineBytes?: number;
  /** How much of the beginning of stderr is kept, and how much of its end; 16 KiB each by default. */
  readonly keptStderrBytes?: number;
}

const MAX_LINE_BYTES = 32 << 20;
const KEPT_STDERR_BYTES = 16 << 10;
const GRACE_MS = 4_000;
/** How long what a dead process left in its pipes is waited for: while nobody reads it, and while somebody does. */
const QUIET_MS = 500;
const BUSY_MS = 5_000;
/** After SIGKILL, only the kernel can keep a process. */
const KILLED_MS = 2_000;

/** An agent's process, which sends and takes a JSON object per line. */
export class AgentProcess {
  readonly label: string;
  readonly pid: number;
  readonly #spawned: Spawned;
  readonly #family: Family;
  readonly #sight: StopReport["sight"];
  readonly #options: ProcessOptions;
  readonly #writer: MessageWriter;
  readonly #stderr: KeptOutput;
  readonly #dead: Promise<void>;
  readonly #exited: Promise<ProcessExit>;
  #reader: MessageReader | undefined;
  #swept: Promise<Swept> | undefined;
  /** All that is to be done once the process is dead. */
  #finished: Promise<void> | undefined;
  #stopping: Promise<StopReport> | undefined;

  /** Starts a process; confined, if the launch says so, or not at all. */
  static async start(launch: Launch, options: ProcessOptions): Promise<AgentProcess> {
    if (process.platform === "win32")
      throw new ProcessError("unsupported", "Reins runs agents on Linux and macOS; on Windows, use WSL.");
    const { owner } = options;
    const letGo = owner.lifeline.extend();
    let confined: Confined | undefined;
    const release = async () => {
      letGo();
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
    this.#sight = launch.confinement ? "namespace" : options.owner.table.sight;
    this.#options = options;
    this.#writer = new MessageWriter(stdin, options.maxLineBytes ?? MAX_LINE_BYTES);
    this.#stderr = new KeptOutput(options.keptStderrBytes ?? KEPT_STDERR_BYTES);
    stderr.on("data", (chunk: Buffer) => this.#stderr.push(chunk));
    // A broken pipe is the end of the process, which is told below.
    for (const stream of [stdout, stderr]) stream.on("error", () => undefined);
    const stderrEnded = once(stderr, "close");
    const callOff = options.owner.lifeline.hold(this.pid);
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
      // At once, before the number of the group can be somebody else's.
      family.kill();
      callOff();
      this.#writer.close(`${this.label} has ended with ${signal ?? `code ${code}`}.`);
      this.#sweep().catch(() => undefined);
      this.#finished = finish(code, signal);
      // Whoever stops the process is told; if nobody does, nobody wants to know.
      this.#finished.catch(() => undefined);
      dead.resolve();
    });
  }

  /**
   * Settles as soon as the process is dead and what it had said has been taken. Never fails. Whatever it left running
   * is being ended by then; {@link stop} tells with what success.
   */
  get exited(): Promise<ProcessExit> {
    return this.#exited;
  }

  /** Who takes the messages. Until there is somebody, none is read. */
  onMessage(listener: MessageListener): void {
    if (this.#reader) throw new Error("Somebody takes the messages of this process already.");
    const { maxLineBytes = MAX_LINE_BYTES, onFault } = this.#options;
    this.#reader = new MessageReader(this.#spawned.stdout, maxLineBytes, {
      message: listener,
      fault: onFault,
    });
  }

  /** Sends a message; settles when there is room for another, and fails if the process has gone. */
  send(message: JsonObject): Promise<void> {
    return this.#writer.send(message);
  }

  /** What everything that came out of it carries. */
  get mark(): Mark {
    return this.#family.mark;
  }

  /** What the process has complained of so far. */
  stderr(): KeptText {
    return this.#stderr.read();
  }

  /**
   * Ends the process and all that came out of it: its input is closed, after half of the grace everyone is asked to
   * end, after all of it everyone is killed.
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
    return { ...swept, sight: this.#sight, ...(dead && { exit: await this.#exited }) };
  }

  #sweep(): Promise<Swept> {
    this.#swept ??= this.#family.end();
    return this.#swept;
  }

  /** Waits for what is left in the pipes; not for long, because somebody else may hold them open. */
  async #drain(stderrEnded: Promise<unknown>): Promise<void> {
    const ended = Promise.all([this.#reader?.ended, stderrEnded]);
    if (!(await settlesWithin(ended, QUIET_MS)) && this.#reader?.delivering)
      await settlesWithin(this.#reader.ended, BUSY_MS);
    this.#reader?.close();
    this.#spawned.stdout.destroy();
    this.#spawned.stderr.destroy();
  }
}
