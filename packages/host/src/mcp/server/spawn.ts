import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "@reins/supervisor";
import { settledWithin } from "../deadline.ts";

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A server that runs as a process. */
export interface SpawnedServer {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles when the process has ended, and never rejects; something it started may still run. */
  readonly exited: Promise<Exit>;
  /** Ends it and what it started, and never rejects. May be called more than once, and after it ended. */
  kill(): Promise<void>;
}

/** Starts a server with that environment and no other; rejects when it cannot be started. */
export type SpawnServer = (
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
) => Promise<SpawnedServer>;

/** How long a group may take to leave after SIGTERM. */
const PATIENCE_MS = 1_000;

/** Starts servers as children of this process, each in a process group of its own. */
export function spawnChild(clock: Clock): SpawnServer {
  return async (command, args, env, cwd) => {
    const detached = process.platform !== "win32";
    const child = spawn(command, args, { cwd, env: { ...env }, detached, stdio: ["pipe", "pipe", "pipe"] });
    const exited = exitOf(child);
    await once(child, "spawn");
    // From here on it can only be that it could not be signalled, and then it has ended.
    child.on("error", () => {});
    return {
      stdin: child.stdin,
      stdout: child.stdout,
      stderr: child.stderr,
      exited,
      kill: async () => {
        if (signalAll(child, "SIGTERM") && !(await settledWithin(exited, PATIENCE_MS, clock))) {
          signalAll(child, "SIGKILL");
        }
        await exited;
        signalAll(child, "SIGKILL");
      },
    };
  };
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

function exitOf(child: Child): Promise<Exit> {
  const { promise, resolve } = Promise.withResolvers<Exit>();
  child.once("exit", (code, signal) => resolve({ code, signal }));
  return promise;
}

/** Signals the process and, where there are groups, all that it started. Says whether anybody was there. */
function signalAll(child: Child, signal: NodeJS.Signals): boolean {
  if (child.pid === undefined) return false;
  try {
    return process.platform === "win32" ? child.kill(signal) : process.kill(-child.pid, signal);
  } catch {
    // Nobody is left.
    return false;
  }
}
