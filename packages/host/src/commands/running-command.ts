import { once } from "node:events";
import { settlesWithin } from "@reins/kit";
import {
  Family,
  type Launch,
  type Owner,
  type ProcessRegistry,
  resizeTerminal,
  type Spawned,
  spawnMarked,
  type TerminalSize,
} from "@reins/runner";
import type { Principal } from "@reins/supervisor";
import { CALLER } from "../control/caller-scope.ts";
import { FileFault } from "../files/file-fault.ts";
import { CommandLog, type OutputPace } from "./command-log.ts";

/** A command to start. */
export interface CommandRequest {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly cwd?: string | null | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly interactive?: boolean | undefined;
  readonly tty?: boolean | undefined;
}

/** A command as its caller sees it. */
export interface ShownCommand {
  readonly id: string;
  readonly command: string;
  readonly args: string[];
  readonly cwd: string;
  readonly owner: "user";
  readonly interactive: boolean;
  readonly tty: boolean;
  readonly status: "running" | "exited";
  readonly pid: number | null;
  readonly exitCode: number | null;
  readonly createdAtMs: number;
  readonly exitedAtMs: number | null;
}

interface RunningCommandOptions {
  readonly principal: Principal;
  readonly request: CommandRequest;
  readonly cwd: string;
  readonly launch: Launch;
  readonly isConfined: boolean;
  readonly owner: Owner;
  readonly register: ProcessRegistry;
  readonly maxLogBytes: number;
  readonly pace: OutputPace;
  /** Called when all of it has ended. */
  readonly onEnd: (exitCode: number | null) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** How long a command may take to end after SIGTERM, and its pipes after it has ended. */
const GRACE_MS = 2_000;
/** How often, and at which distance, the terminal of a command is looked for. */
const [RESIZE_ATTEMPTS, RESIZE_PAUSE_MS] = [100, 20];

/** A command that was started, with all that came out of it. */
export class RunningCommand {
  readonly log: CommandLog;
  /** Settles when it has ended, with all that came out of it. Never rejects. */
  readonly ended: Promise<void>;
  readonly createdAtMs = Date.now();
  readonly #options: RunningCommandOptions;
  readonly #spawned: Spawned;
  readonly #family: Family;
  #exitedAtMs: number | null = null;

  private constructor(options: RunningCommandOptions, spawned: Spawned, family: Family, release: () => void) {
    const { request, maxLogBytes, pace, onError } = options;
    const { stdin, stdout, stderr } = spawned;
    this.#options = options;
    this.#spawned = spawned;
    this.#family = family;
    this.log = new CommandLog(maxLogBytes);
    for (const stream of [stdin, stdout, stderr]) stream.on("error", () => undefined);
    for (const [name, stream] of Object.entries({ stdout, stderr } as const))
      stream.on("data", (bytes: Buffer) => {
        this.log.push(request.tty ? "pty" : name === "stdout" ? "stdout" : "stderr", bytes);
        pace.count(stream, bytes.length);
      });
    if (!this.takesInput) stdin.end();
    this.ended = this.#over(release).catch(onError);
  }

  /** Starts a command. Throws if it cannot be started. */
  static async start(options: RunningCommandOptions): Promise<RunningCommand> {
    const { owner, register, principal, launch, isConfined } = options;
    const letGo = owner.lifeline.extend();
    const mark = owner.newMark();
    const spawned = await spawnMarked(launch, mark).catch((error: unknown) => {
      letGo();
      throw error;
    });
    const { pid } = spawned;
    const family = new Family(pid, mark, owner.table, isConfined);
    const unhold = owner.lifeline.hold(pid);
    const entry = register.add({
      agent: CALLER,
      tenant: principal.tenant,
      principal: principal.id,
      confined: isConfined,
      started_at: new Date().toISOString(),
    });
    const unroot = register.root(entry, { pid, mark });
    const release = () => {
      unhold();
      unroot();
      register.remove(entry);
      letGo();
    };
    return new RunningCommand(options, spawned, family, release);
  }

  get exitCode(): number | null {
    return this.#spawned.child.exitCode;
  }

  get isOver(): boolean {
    return this.#exitedAtMs !== null;
  }

  get takesInput(): boolean {
    const { interactive = false, tty = false } = this.#options.request;
    return interactive || tty;
  }

  get durationMs(): number {
    return Math.round((this.#exitedAtMs ?? Date.now()) - this.createdAtMs);
  }

  isOf({ id, tenant }: Principal): boolean {
    const { principal } = this.#options;
    return principal.id === id && principal.tenant === tenant;
  }

  shown(id: string): ShownCommand {
    const { request, cwd } = this.#options;
    const { command, args = [], interactive = false, tty = false } = request;
    return {
      ...{ id, command, args: [...args], cwd, owner: "user", interactive, tty },
      status: this.isOver ? "exited" : "running",
      pid: this.isOver ? null : this.#spawned.pid,
      exitCode: this.exitCode,
      ...{ createdAtMs: this.createdAtMs, exitedAtMs: this.#exitedAtMs },
    };
  }

  /** Writes to its standard input, unless so many bytes wait there. */
  input(bytes: Uint8Array, most: number): void {
    const { stdin } = this.#spawned;
    if (!this.takesInput || this.isOver || !stdin.writable)
      throw new FileFault("conflict", "it takes no input: it is not interactive, or has ended");
    if (bytes.length > most) throw new FileFault("too_large", `at most ${most} bytes are taken at once`);
    if (stdin.writableLength > most) throw new FileFault("unavailable", "it has not read its earlier input");
    stdin.write(bytes);
  }

  /** Sets the size of its terminal; waits for that of a command that has only just been started. */
  async resize(size: TerminalSize): Promise<TerminalSize> {
    for (let attempt = 0; attempt < RESIZE_ATTEMPTS; attempt += 1) {
      if (!this.#options.request.tty || this.isOver)
        throw new FileFault("conflict", "the command has no terminal, or has ended");
      if (await resizeTerminal(this.#family, size)) return size;
      await settlesWithin(this.ended, RESIZE_PAUSE_MS);
    }
    throw new FileFault("unavailable", "its terminal cannot be resized now; try it again");
  }

  kill(): void {
    this.#family.kill();
  }

  /** Asks it to end, and waits for that for a while. */
  async end({ isKill = false, waitMs = GRACE_MS } = {}): Promise<void> {
    if (this.isOver) return;
    if (isKill) this.kill();
    else await this.#family.terminate();
    await settlesWithin(this.ended, waitMs);
  }

  /** Has it end: asks, then kills. */
  async stop(): Promise<void> {
    await this.end();
    if (!this.isOver) this.kill();
    await this.ended;
  }

  async #over(release: () => void): Promise<void> {
    const { child, stdout, stderr } = this.#spawned;
    const drained = Promise.all([stdout, stderr].map((stream) => stream.closed || once(stream, "close")));
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    // At once, before the group's number can be reused.
    this.kill();
    await settlesWithin(drained, GRACE_MS);
    stdout.destroy();
    stderr.destroy();
    await this.#family.end();
    release();
    this.#exitedAtMs = Date.now();
    this.log.end();
    await this.#options.onEnd(child.exitCode);
  }
}
