import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { errorMessage } from "@reins/kit";
import type { Dial } from "../client/stream-transport.ts";
import { AhpError } from "../errors.ts";
import type { AhpServer } from "../server/server.ts";
import type { Served } from "./connection.ts";
import { InFlight, type Limits, settleLimits } from "./limits.ts";
import { lineWire, serveLines } from "./lines.ts";

/** The streams to serve, and the limits. */
export interface StdioOptions {
  readonly input?: Readable;
  readonly output?: Writable;
  readonly limits?: Partial<Limits>;
}

/** Serves the process that started this one: a JSON document per line, logs belong on stderr. */
export function serveStdio(server: AhpServer, options: StdioOptions = {}): Served {
  const { input = process.stdin, output = process.stdout } = options;
  const limits = settleLimits(options.limits);
  const bounds = { limits, inFlight: new InFlight(limits) };
  const connection = serveLines(server, { transport: "stdio" }, bounds, {
    input,
    output,
    keepOutput: true,
  });
  return {
    address: "stdio",
    closed: connection.closed,
    close: async () => {
      input.pause();
      await connection.end();
    },
  };
}

/** A harness that runs as a child process. */
export interface StdioTarget {
  readonly program: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** The child's whole environment; by default the parent's. */
  readonly env?: Readonly<Record<string, string>>;
  /** Receives the child's stderr; by default this process's own does. */
  readonly onStderr?: (chunk: Buffer) => void;
}

/** How long a child may take to exit after its input ended, and again after SIGTERM. */
const PATIENCE_MS = 2_000;

/** Starts the program in a process group of its own, without a shell, and speaks to its stdin and stdout. */
export function dialStdio(target: StdioTarget, maxMessageBytes: number): Dial {
  return async (events) => {
    const child = start(target);
    await spawned(child);
    if (target.onStderr) child.stderr?.on("data", target.onStderr);
    const wire = lineWire({ input: child.stdout, output: child.stdin }, events, maxMessageBytes);
    child.once("exit", (code, signal) =>
      events.closed(new Error(`the harness ended with ${signal ?? `code ${code}`}`)),
    );
    return {
      send: wire.send,
      get buffered() {
        return wire.buffered;
      },
      close: async () => {
        await wire.finish();
        await stop(child);
      },
    };
  };
}

type Child = ChildProcessByStdio<Writable, Readable, Readable | null>;

function start({ program, args = [], cwd, env, onStderr }: StdioTarget): Child {
  const options = { cwd, env: env && { ...env }, detached: process.platform !== "win32" };
  return onStderr
    ? spawn(program, args, { ...options, stdio: ["pipe", "pipe", "pipe"] })
    : spawn(program, args, { ...options, stdio: ["pipe", "pipe", "inherit"] });
}

async function spawned(child: Child): Promise<void> {
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new AhpError("transport", `Failed to spawn process: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

/** Waits for the child to exit after its input ended; otherwise kills its process group. */
async function stop(child: Child): Promise<void> {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    if (await left(child)) return;
    signalGroup(child, signal);
  }
  await left(child);
}

async function left(child: Child): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null) return true;
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(), PATIENCE_MS);
  try {
    await once(child, "exit", { signal: end.signal });
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function signalGroup(child: Child, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? child.pid : -child.pid, signal);
  } catch {
    // It has exited in the meantime.
  }
}
