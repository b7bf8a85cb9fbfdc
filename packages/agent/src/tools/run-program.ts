import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { setTimeout as setTimeoutPromise } from "node:timers/promises";
import { errorCode } from "@reins/kit";

/** A program to be run. */
export interface ProgramRun {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** How much of the beginning and of the end of its output is kept. */
  readonly headBytes: number;
  readonly tailBytes: number;
  /** Whether it is ended when more than the beginning has come. */
  readonly stopWhenFull?: boolean;
}

/** How a program ended. */
export interface ProgramEnd {
  /** What it wrote, to either stream, in the order it came. */
  readonly output: string;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** How long a program may take to end when it is asked to. */
const GRACE_MS = 2_000;

/** Runs a program in a group of its own, and ends the whole group with it, in time or when the signal aborts. */
export async function runProgram(run: ProgramRun, signal: AbortSignal): Promise<ProgramEnd> {
  signal.throwIfAborted();
  const child: Child = spawn(run.file, run.args, {
    cwd: run.cwd,
    env: { ...run.env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const output = new OutputBuffer(run.headBytes, run.tailBytes);
  let timedOut = false;
  let ending: NodeJS.Timeout | undefined;
  const end = () => {
    if (ending) return;
    killGroup(child, "SIGTERM");
    ending = setTimeout(() => killGroup(child, "SIGKILL"), GRACE_MS);
  };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (piece: Buffer) => {
      output.add(piece);
      if (run.stopWhenFull && output.total > run.headBytes) end();
    });
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, run.timeoutMs);
  signal.addEventListener("abort", end, { once: true });
  try {
    const closed = once(child, "close").catch(() => undefined);
    await once(child, "exit");
    // Whoever was left behind by it holds its streams open, and has no business here any more.
    killGroup(child, "SIGKILL");
    await Promise.race([closed, setTimeoutPromise(GRACE_MS, undefined, { ref: false })]);
  } finally {
    clearTimeout(timer);
    clearTimeout(ending);
    // One that left the group may hold them open still; it is not listened to.
    child.stdout.destroy();
    child.stderr.destroy();
    signal.removeEventListener("abort", end);
  }
  signal.throwIfAborted();
  return { output: output.text, exitCode: child.exitCode, signal: child.signalCode, timedOut };
}

function killGroup({ pid }: Child, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // Nobody is left in it; or, on some systems, only what has ended and was not yet collected.
    if (errorCode(error) !== "ESRCH" && errorCode(error) !== "EPERM") throw error;
  }
}

/** What a program wrote: its beginning and its end, however much there was between them. */
export class OutputBuffer {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  readonly #head: Buffer[] = [];
  #headLength = 0;
  #tail: Buffer[] = [];
  #tailLength = 0;
  #total = 0;

  constructor(headLimit: number, tailLimit: number) {
    this.#headLimit = headLimit;
    this.#tailLimit = tailLimit;
  }

  /** How many bytes were written altogether. */
  get total(): number {
    return this.#total;
  }

  add(piece: Buffer): void {
    this.#total += piece.length;
    const first = piece.subarray(0, this.#headLimit - this.#headLength);
    if (first.length > 0) this.#head.push(first);
    this.#headLength += first.length;
    const rest = piece.subarray(first.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailLength += rest.length;
    if (this.#tailLength > 2 * this.#tailLimit) this.#trim();
  }

  /** What was kept, with a line where something was left out. */
  get text(): string {
    this.#trim();
    const left = this.#total - this.#headLength - this.#tailLength;
    const parts = [Buffer.concat(this.#head), Buffer.concat(this.#tail)].map((part) => part.toString("utf8"));
    return left > 0 ? parts.join(`\n[${left} bytes left out]\n`) : parts.join("");
  }

  #trim(): void {
    const tail = Buffer.concat(this.#tail);
    const kept = tail.subarray(Math.max(0, tail.length - this.#tailLimit));
    // A copy, so that what was left out can go.
    this.#tail = [Buffer.from(kept)];
    this.#tailLength = kept.length;
  }
}
