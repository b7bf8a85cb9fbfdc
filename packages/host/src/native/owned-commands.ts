import { once } from "node:events";
import type { CommandRun, CommandRunner, ProgramEnd } from "@reins/agent";
import { settlesWithin } from "@reins/kit";
import type { Confinement, Launch, Mark, Owner, Sandbox } from "@reins/runner";
import { confine, Family, KeptOutput, type KeptText, type Spawned, spawnMarked } from "@reins/runner";

/** What running commands needs. */
export interface OwnedCommandsOptions {
  readonly owner: Owner;
  /** Everything that commands find in their environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** What the operating system keeps commands to; without one, nothing. */
  readonly confinement?: Confinement | undefined;
  /** A sandbox that was found to work; by default it is looked for. */
  readonly sandbox?: Sandbox | undefined;
  /** Receives every command that is started; what it returns is called when the command has ended. */
  readonly onStart?:
    | ((root: { readonly pid: number; readonly mark: Mark }) => (() => void) | undefined)
    | undefined;
}

/** How much of the beginning of the output is kept, and how much of its end. */
const KEPT_BYTES = 24 * 1024;
/** How long the processes may take to end after SIGTERM. */
const GRACE_MS = 2_000;
/** How long what is left in the pipes of a dead command is waited for. */
const DRAIN_MS = 1_000;

/**
 * Runs command lines as agents are run: each in a group of its own, marked, ended with all that came out of it in time,
 * with its turn, or when this process dies; and confined, where that is wanted, or not at all.
 */
export class OwnedCommands implements CommandRunner {
  readonly #options: OwnedCommandsOptions;

  constructor(options: OwnedCommandsOptions) {
    this.#options = options;
  }

  async run({ command, cwd, timeoutMs, onOutput }: CommandRun, signal: AbortSignal): Promise<ProgramEnd> {
    signal.throwIfAborted();
    const { owner, environment: env, confinement, sandbox } = this.#options;
    const launch: Launch = { command: "/bin/sh", args: ["-c", command], env, cwd, label: "the command" };
    const confined = confinement && (await confine(launch, confinement, { ...(sandbox && { sandbox }) }));
    const letGo = owner.lifeline.extend();
    try {
      const mark = owner.newMark();
      const spawned = await spawnMarked(confined?.launch ?? launch, mark);
      const family = new Family(spawned.pid, mark, owner.table, confined !== undefined);
      const release = owner.lifeline.hold(spawned.pid);
      const ended = this.#options.onStart?.({ pid: spawned.pid, mark });
      try {
        const end = await new RunningCommand(spawned, family, onOutput).end(timeoutMs, signal);
        signal.throwIfAborted();
        return end;
      } finally {
        release();
        await family.end();
        ended?.();
      }
    } finally {
      letGo();
      await confined?.close();
    }
  }
}

/** A command that runs, and what it has written. */
class RunningCommand {
  readonly #spawned: Spawned;
  readonly #family: Family;
  readonly #output = new KeptOutput(KEPT_BYTES);
  readonly #exited: Promise<unknown>;
  readonly #drained: Promise<unknown>;

  constructor(spawned: Spawned, family: Family, onOutput: CommandRun["onOutput"]) {
    const { child, stdin, stdout, stderr } = spawned;
    this.#spawned = spawned;
    this.#family = family;
    this.#exited = once(child, "exit");
    // At once, before the group's number can be reused.
    child.once("exit", () => family.kill());
    for (const stream of [stdin, stdout, stderr]) stream.on("error", () => undefined);
    for (const stream of [stdout, stderr])
      stream.on("data", (piece: Buffer) => {
        this.#output.push(piece);
        onOutput?.(piece);
      });
    this.#drained = Promise.all([once(stdout, "close"), once(stderr, "close")]);
    stdin.end();
  }

  /** How it ended: by itself, by its timeout, or by the signal. */
  async end(timeoutMs: number, signal: AbortSignal): Promise<ProgramEnd> {
    const { child, stdout, stderr } = this.#spawned;
    const { promise: unwanted, resolve: give } = Promise.withResolvers<void>();
    const abort = () => give();
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) give();
    const timedOut = !(await settlesWithin(Promise.race([this.#exited, unwanted]), timeoutMs));
    signal.removeEventListener("abort", abort);
    if (timedOut || signal.aborted) await this.#stop();
    await this.#exited;
    // One that left the group may hold the pipes open still; it is not listened to.
    await settlesWithin(this.#drained, DRAIN_MS);
    stdout.destroy();
    stderr.destroy();
    const output = textOf(this.#output.read());
    return { output, exitCode: child.exitCode, signal: child.signalCode, timedOut };
  }

  async #stop(): Promise<void> {
    await this.#family.terminate();
    if (!(await settlesWithin(this.#exited, GRACE_MS))) this.#family.kill();
  }
}

function textOf({ head, tail, omitted }: KeptText): string {
  return omitted > 0 ? `${head}\n[${omitted} bytes left out]\n${tail}` : `${head}${tail}`;
}
