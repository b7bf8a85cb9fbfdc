import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { HarnessSettings, Order, Ready, Report } from "./settings.ts";

const PROGRAM = fileURLToPath(new URL("program.ts", import.meta.url));
const STDERR_KEPT = 4_000;

/** How to start the harness by hand, for a client that starts its own. */
export function harnessCommand(settings: HarnessSettings): { program: string; args: string[] } {
  return { program: process.execPath, args: ["--expose-gc", PROGRAM, JSON.stringify(settings)] };
}

/** A harness in a process of its own, that can be asked how it is. */
export class Harness {
  readonly child: ChildProcess;
  /** Rejects when the process ends by itself, with what it said last. */
  readonly died: Promise<never>;
  /** Where HTTP is served. */
  readonly http: string;
  /** Settles when the process has ended, for whatever reason. */
  readonly exited: Promise<unknown>;
  readonly #reports: ((report: Report) => void)[] = [];

  private constructor(
    child: ChildProcess,
    died: Promise<never>,
    exited: Promise<unknown>,
    { http = "" }: Ready,
  ) {
    this.child = child;
    this.died = died;
    this.http = http;
    this.exited = exited;
    child.on("message", (report: Report) => this.#reports.shift()?.(report));
  }

  /** Starts one and waits until it serves. */
  static async start(settings: HarnessSettings): Promise<Harness> {
    const { program, args } = harnessCommand(settings);
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe", "ipc"] });
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-STDERR_KEPT);
    });
    child.stdin?.on("error", () => {});
    const exited = once(child, "exit");
    const died = exited.then(([code, signal]) => {
      throw new Error(`the harness ended with ${signal ?? `code ${code}`}\n${said}`);
    });
    died.catch(() => {});
    const [ready]: Ready[] = await Promise.race([once(child, "message"), died]);
    if (!ready) throw new Error("the harness did not say that it serves");
    return new Harness(child, died, exited, ready);
  }

  /** Where WebSockets are served. */
  get webSocket(): string {
    return this.http.replace(/^http/, "ws");
  }

  /** How it is now. */
  report(): Promise<Report> {
    const { promise, resolve } = Promise.withResolvers<Report>();
    this.#reports.push(resolve);
    this.#tell("report");
    return Promise.race([promise, this.died]);
  }

  /** Lets it answer the events that it holds. */
  release(): void {
    this.#tell("release");
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }

  /** Ends it; it has nothing to finish. */
  async stop(): Promise<void> {
    if (this.child.connected) this.child.disconnect();
    await this.exited;
  }

  #tell(order: Order): void {
    if (this.child.connected) this.child.send(order);
  }
}
