import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { setTimeout as setTimeoutPromise } from "node:timers/promises";
import { errorCode } from "@reins/kit";

/** A program to run. */
export interface ProgramRun {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** How much output is kept from the start and from the end. */
  readonly headBytes: number;
  readonly tailBytes: number;
  /** Whether to stop it once `headBytes` are exceeded. */
  readonly stopWhenFull?: boolean;
  /** Receives what it writes, as it comes. */
  readonly onOutput?: (piece: Buffer) => void;
}

/** The result of a program. */
export interface ProgramEnd {
  /** The output of both streams, in order of arrival. */
  readonly output: string;
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** How long a program may take to end after SIGTERM. */
const GRACE_MS = 2_000;

/** Runs a program in its own process group, and kills the whole group with it, on timeout or when the signal aborts. */
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
      run.onOutput?.(piece);
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
    // Background processes of the program may keep its streams open.
    killGroup(child, "SIGKILL");
    await Promise.race([closed, setTimeoutPromise(GRACE_MS, undefined, { ref: false })]);
  } finally {
    clearTimeout(timer);
    clearTimeout(ending);
    // A process that left the group may still hold the streams; stop reading.
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
    // The group is gone; EPERM is what some systems report for a group of zombies.
    if (errorCode(error) !== "ESRCH" && errorCode(error) !== "EPERM") throw error;
  }
}

/** Keeps the start and the end of a program's output. */
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

  /** All bytes that were written. */
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

  /** The kept output, with a line where bytes were left out. */
  get text(): string {
    this.#trim();
    const left = this.#total - this.#headLength - this.#tailLength;
    const parts = [Buffer.concat(this.#head), Buffer.concat(this.#tail)].map((part) => part.toString("utf8"));
    return left > 0 ? parts.join(`\n[${left} bytes left out]\n`) : parts.join("");
  }

  #trim(): void {
    const tail = Buffer.concat(this.#tail);
    const kept = tail.subarray(Math.max(0, tail.length - this.#tailLimit));
    // A copy, so that the dropped buffers can be freed.
    this.#tail = [Buffer.from(kept)];
    this.#tailLength = kept.length;
  }
}
