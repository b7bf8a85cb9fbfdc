import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ApprovalChange } from "../../src/approvals/approval.ts";
import type { Answers, Call, CallOf, Said, Start } from "./protocol.ts";

const PROGRAM = fileURLToPath(new URL("./program.ts", import.meta.url));
const PATIENCE_MS = 60_000;

/** The process died before it answered; whether it did what was asked is not known. */
export class Died extends Error {
  override readonly name = "Died";
}

/** What was asked was refused. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The process that is killed, seen from its parent. */
export class ApprovalProcess {
  /** What it told its subscribers, in order. */
  readonly events: ApprovalChange[] = [];
  /** How long after each was begun they knew, the write to the disk included. */
  readonly latencies: number[] = [];
  /** The last change before it started. */
  readonly #ready = Promise.withResolvers<number>();
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #child: ChildProcess;
  readonly #gone = Promise.withResolvers<void>();
  #number = 0;
  #dead = false;
  #words = "";

  constructor(start: Start) {
    this.#child = fork(PROGRAM, [JSON.stringify(start)], {
      // What has been compiled once need not be again: starting is most of a run.
      env: { ...process.env, NODE_COMPILE_CACHE: start.cache },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child.stderr?.on("data", (data) => {
      this.#words = `${this.#words}${data}`.slice(-10_000);
    });
    this.#child.on("message", (said: Said) => this.#hear(said));
    this.#child.on("exit", (code, signal) => this.#mourn(code, signal));
    this.#child.on("error", () => undefined);
    this.#ready.promise.catch(() => undefined);
  }

  get isDead(): boolean {
    return this.#dead;
  }

  /** When it can be asked; the last change before it started. */
  ready(): Promise<number> {
    return within("start", this.#ready.promise);
  }

  /** Asks; rejects with {@link Died} or {@link Refused}. */
  call<Kind extends Call["do"]>(call: CallOf<Kind> & { do: Kind }): Promise<Answers[Kind]> {
    const answer = Promise.withResolvers<unknown>();
    this.#number += 1;
    this.#waiting.set(this.#number, answer);
    if (this.#dead) answer.reject(new Died());
    else this.#child.send({ number: this.#number, call }, () => undefined);
    // The program answers each kind of call in its own way.
    return within(call.do, answer.promise as Promise<Answers[Kind]>);
  }

  /** Kills it as a power switch would, and waits until it is gone. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#gone.promise;
  }

  /** Lets it end by itself, and waits until it has. */
  async leave(): Promise<void> {
    this.#child.disconnect();
    await this.#gone.promise;
  }

  #hear(said: Said): void {
    if ("ready" in said) this.#ready.resolve(said.ready);
    else if ("event" in said) this.#note(said);
    else if ("error" in said)
      this.#waiting.get(said.number)?.reject(new Refused(said.error.code, said.error.message));
    else this.#waiting.get(said.number)?.resolve(said.value);
  }

  #note({ event, late_ms }: { event: ApprovalChange; late_ms: number }): void {
    this.events.push(event);
    this.latencies.push(late_ms);
  }

  #mourn(code: number | null, signal: NodeJS.Signals | null): void {
    this.#dead = true;
    const killed = signal === "SIGKILL";
    const fault = killed ? new Died() : new Error(`it ended with ${signal ?? code}: ${this.#words}`);
    this.#ready.reject(fault);
    for (const { reject } of this.#waiting.values()) reject(fault);
    this.#gone.resolve();
  }
}

async function within<Value>(what: string, promise: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`${what}: nothing for ${PATIENCE_MS} ms`)),
    PATIENCE_MS,
  );
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
