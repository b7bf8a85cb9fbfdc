import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { reinsProgram } from "../../../../scripts/test/program.ts";

const running = new Set<Reins>();
/** Those that serve more than one test of their file. */
const kept = new Set<Reins>();

/** A folder of this test file's own; short, because the path of a socket must be. */
export let folder = "";

/** The command line that starts `reins` with the Node of this process. */
export const reinsCommand: readonly string[] = [process.execPath, reinsProgram];

/** Makes the folder of the test file that comes next. */
export function beginFile(): void {
  folder = mkdtempSync(join(tmpdir(), "reins-"));
}

/** Keeps one from the end of its test until the end of the file. */
export function keepRunning(reins: Reins): void {
  kept.add(reins);
}

/** Ends what a test left running. */
export async function killRunning(): Promise<void> {
  for (const reins of running) if (!kept.has(reins)) await reins.kill();
}

/** Ends what was kept, and removes the folder; again, if what was killed had not ended everything that it started. */
export async function endFile(): Promise<void> {
  kept.clear();
  await killRunning();
  rmSync(folder, { recursive: true, maxRetries: 10 });
}

/** How a command ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One entry of a log in JSON. */
export type LogEntry = Readonly<Record<string, unknown>>;

/** A `reins` that runs as a process of its own, or below another program. Whatever a test leaves running is killed after it. */
export class Reins {
  readonly stdin: Writable;
  readonly ended: Promise<Ended>;
  stdout = "";
  stderr = "";
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;

  constructor(args: readonly string[], environment: NodeJS.ProcessEnv = {}, program?: string) {
    const [command, own] = program === undefined ? [process.execPath, [reinsProgram]] : [program, []];
    this.#child = spawn(command, [...own, ...args], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        REINS_ACP_REGISTRY_URL: "off",
        HOME: folder,
        NODE_COMPILE_CACHE: join(tmpdir(), "reins-test-compile"),
        ...environment,
      },
    });
    this.stdin = this.#child.stdin;
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    running.add(this);
    this.ended = once(this.#child, "close").then(([code]) => {
      running.delete(this);
      return { code, stdout: this.stdout, stderr: this.stderr };
    });
  }

  /** The id of its process. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Sends a signal. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends it at once, if it still runs. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.ended;
  }

  /** Waits until a line on stdout holds a text. */
  printed(text: string): Promise<void> {
    return this.until(() => this.lines.some((line) => line.includes(text)));
  }

  /** Waits until what is on stdout is enough. */
  async until(enough: () => boolean): Promise<void> {
    while (!enough()) {
      const more = once(this.#child.stdout, "data");
      const end = this.ended.then(() =>
        Promise.reject(new Error(`reins ended: ${this.stdout}${this.stderr}`)),
      );
      await Promise.race([more, end]);
    }
  }

  /** The whole lines on stdout. */
  get lines(): string[] {
    return this.stdout.split("\n").slice(0, -1);
  }

  /** The log on stdout. */
  get log(): LogEntry[] {
    return this.lines.map((line) => JSON.parse(line));
  }

  /** Where it listens over that transport. */
  addressOf(transport: string): string {
    const entry = this.log.find((each) => each.transport === transport);
    if (typeof entry?.address !== "string")
      throw new Error(`nothing listens over ${transport}: ${this.stdout}`);
    return entry.address;
  }
}

/** Starts `reins` and waits until it listens. */
export async function listening(args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<Reins> {
  const reins = new Reins(args, environment);
  await reins.printed("listening");
  return reins;
}

/** Runs `reins` to its end. */
export function runReins(
  args: readonly string[],
  environment?: NodeJS.ProcessEnv,
  input = "",
): Promise<Ended> {
  const reins = new Reins(args, environment);
  reins.stdin.end(input);
  return reins.ended;
}
