import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { errorCode } from "@reins/kit";

/** A child process that reports line by line. */
export class Child {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #errors = "";

  private constructor(process: ChildProcess, lines: Interface) {
    this.#process = process;
    this.#lines = lines[Symbol.asyncIterator]();
    process.stderr?.on("data", (data) => {
      this.#errors += data;
    });
  }

  /** Starts a script, possibly through another command. */
  static start(script: URL, args: readonly string[], through: readonly string[] = []): Child {
    const [command = "", ...rest] = [...through, process.execPath, fileURLToPath(script), ...args];
    const child = spawn(command, rest, { stdio: ["pipe", "pipe", "pipe"] });
    return new Child(child, createInterface({ input: child.stdout }));
  }

  /** What it complained of. */
  get errors(): string {
    return this.#errors;
  }

  /** Everything it says until its end. */
  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    for (let line = await this.#lines.next(); !line.done; line = await this.#lines.next())
      yield JSON.parse(line.value);
  }

  /** The next thing it says. */
  async next(): Promise<unknown> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the other process said nothing more: ${this.#errors}`);
    return JSON.parse(value);
  }

  /** Makes it do something. */
  ask(): void {
    this.#process.stdin?.write("\n");
  }

  /** Closes its input and waits for its end. */
  async end(): Promise<void> {
    this.#process.stdin?.end();
    if (this.#process.exitCode === null && this.#process.signalCode === null)
      await once(this.#process, "exit");
  }

  /** Stops it where it is, and has it go on. */
  pause(): void {
    this.#process.kill("SIGSTOP");
  }

  proceed(): void {
    this.#process.kill("SIGCONT");
  }

  /** Ends it, giving it no time for anything. */
  async kill(): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.end();
  }
}

/** Sends a line to the parent process. Once it returns, the parent gets it even if this process is killed. */
export function say(something: unknown): void {
  let left = Buffer.from(`${JSON.stringify(something)}\n`);
  while (left.length > 0) left = left.subarray(writeSome(left));
}

function writeSome(bytes: Buffer): number {
  try {
    return writeSync(1, bytes);
  } catch (error) {
    if (!(errorCode(error) === "EAGAIN")) throw error;
    // The other end has yet to read what was said before.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}
