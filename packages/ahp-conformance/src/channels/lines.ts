import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { AhpError } from "@reins/ahp";
import { errorMessage, LineReader } from "@reins/kit";
import type { Channel, ExchangeOptions, Outgoing, Reply, Target } from "./channel.ts";
import { Inbox } from "./inbox.ts";

/** Between the pieces of one message, so that they arrive apart. */
const PIECE_MS = 5;
const LF = Buffer.from("\n");
/** A longer line ends the connection; no answer of a harness needs as much. */
const MAX_LINE = 64 * 1024 * 1024;

/** The two ends of a stream of lines, and how to close it. */
export interface Pipe {
  readonly writable: Writable;
  readonly readable: Readable;
  /** Resolves with how it ended. */
  readonly over: Promise<string>;
  /** Ends it at once. */
  destroy(): void;
  /** Ends it in good order, then at once. */
  close(): Promise<void>;
}

/** One JSON document per line, as stdio and Unix sockets carry them. */
export class LineChannel<Transport extends "stdio" | "unix"> implements Channel {
  readonly transport: Transport;
  readonly #pipe: Pipe;
  readonly #inbox = new Inbox();

  constructor(transport: Transport, pipe: Pipe) {
    this.transport = transport;
    this.#pipe = pipe;
    const lines = new LineReader(
      {
        line: (text) => {
          if (text.trim() !== "") this.#inbox.deliver(text);
        },
        refused: (fault, { start }) => {
          if (fault === "invalid_utf8") return this.#inbox.deliver(start);
          this.#inbox.end(`a line of more than ${MAX_LINE} bytes`);
          pipe.destroy();
        },
      },
      MAX_LINE,
    );
    pipe.readable.on("data", (chunk: Buffer) => lines.push(chunk));
    pipe.over.then((how) => this.#inbox.end(how));
  }

  get ended(): string | undefined {
    return this.#inbox.ended;
  }

  get noise(): readonly string[] {
    return this.#inbox.noise;
  }

  async send(message: Outgoing): Promise<void> {
    if (typeof message === "string" || Buffer.isBuffer(message)) {
      return this.write(Buffer.concat([Buffer.from(message), LF]));
    }
    for (const piece of [...message, LF]) {
      await this.write(piece);
      await delay(PIECE_MS);
    }
  }

  async exchange(message: Outgoing, { id, waitMs }: ExchangeOptions): Promise<Reply> {
    const answer = this.#inbox.next(id, waitMs);
    await this.#within(waitMs, this.send(message));
    return this.#reply(await answer);
  }

  /** Writes bytes as they are, without ending the line. */
  write(bytes: Buffer): Promise<void> {
    const written = new Promise<void>((resolve) => this.#pipe.writable.write(bytes, () => resolve()));
    return Promise.race([written, this.#pipe.over.then(() => {})]);
  }

  /** Waits for the response with that id, even to a message sent by `send`. */
  async next(id: string, waitMs: number): Promise<Reply> {
    return this.#reply(await this.#inbox.next(id, waitMs));
  }

  /** Says that nothing more will be sent, and keeps listening. */
  finish(): void {
    this.#pipe.writable.end();
  }

  /** How the connection ended; absent when it has not after `waitMs`. */
  ending(waitMs: number): Promise<string | undefined> {
    return this.#within(waitMs, this.#pipe.over);
  }

  unclaimed(): readonly string[] {
    return this.#inbox.unclaimed();
  }

  begin(beginning: Buffer): Promise<void> {
    return this.write(beginning);
  }

  async vanish(): Promise<void> {
    this.#pipe.destroy();
    await this.#pipe.over;
  }

  async close(): Promise<void> {
    await this.#pipe.close();
  }

  #reply(text: string | undefined): Reply {
    const { ended } = this;
    return text === undefined && ended !== undefined ? { text, ended } : { text };
  }

  async #within<Value>(waitMs: number, promise: Promise<Value>): Promise<Value | undefined> {
    const timer = new AbortController();
    const late = delay(waitMs, undefined, { signal: timer.signal }).catch(() => undefined);
    try {
      return await Promise.race([promise, late]);
    } finally {
      timer.abort();
    }
  }
}

/** How long a harness may take to exit after its input ended. */
const LEAVE_MS = 1000;
const STDERR_TAIL = 2000;

/** Starts the harness in a process group of its own and speaks to it over its standard input and output. */
export async function openStdio(
  target: Extract<Target, { transport: "stdio" }>,
): Promise<LineChannel<"stdio">> {
  const child = spawn(target.command, target.args ?? [], {
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    ...(target.cwd !== undefined && { cwd: target.cwd }),
    ...(target.env && { env: { ...process.env, ...target.env } }),
  });
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new AhpError("transport", `Failed to spawn process: ${errorMessage(error)}`, { cause: error });
  }
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints = (complaints + text).slice(-STDERR_TAIL);
  });
  child.stdin.on("error", () => {});
  const over = new Promise<string>((resolve) => {
    child.once("close", (code, signal) => resolve(howItEnded(code, signal, complaints)));
  });
  const destroy = () => {
    killGroup(child.pid);
    child.stdout.destroy();
    child.stderr.destroy();
  };
  return new LineChannel("stdio", {
    writable: child.stdin,
    readable: child.stdout,
    over,
    destroy,
    async close() {
      child.stdin.end();
      await Promise.race([over, delay(LEAVE_MS, undefined, { ref: false })]);
      destroy();
      await over;
    },
  });
}

/** The end of a process that exited by itself. */
export const CLEAN_EXIT = "the process exited with status 0";

function howItEnded(code: number | null, signal: string | null, complaints: string): string {
  if (code === 0) return CLEAN_EXIT;
  const how = code === null ? `was ended by ${signal}` : `exited with status ${code}`;
  return `the process ${how}${complaints === "" ? "" : `; it wrote to stderr: ${complaints.trim()}`}`;
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    const gone = error instanceof Error && "code" in error && error.code === "ESRCH";
    if (!gone) throw error;
  }
}

/** Connects to a harness that listens on a Unix socket. */
export async function openUnix({
  path,
}: Extract<Target, { transport: "unix" }>): Promise<LineChannel<"unix">> {
  const socket = connect({ path, allowHalfOpen: true });
  try {
    await once(socket, "connect");
  } catch (error) {
    throw new AhpError("transport", `Failed to connect to ${path}: ${errorMessage(error)}`, { cause: error });
  }
  let fault: Error | undefined;
  socket.on("error", (error) => {
    fault = error;
  });
  socket.once("end", () => socket.end());
  const over = new Promise<string>((resolve) => {
    socket.once("close", () => {
      resolve(fault ? `the connection broke: ${fault.message}` : "the harness closed the connection");
    });
  });
  return new LineChannel("unix", {
    writable: socket,
    readable: socket,
    over,
    destroy: () => socket.destroy(),
    async close() {
      socket.destroy();
      await over;
    },
  });
}
