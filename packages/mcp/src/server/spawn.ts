import type { Readable, Writable } from "node:stream";
import { type Clock, settlesWithin } from "@reins/kit";
import type { Owner } from "@reins/runner";
import { Family, spawnMarked } from "@reins/runner";

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

/** How long everybody may take to leave after SIGTERM. */
const PATIENCE_MS = 1_000;

/**
 * Starts servers as agents are started: each in a group of its own, marked, and ended with all that came out of it when
 * it is stopped, or when this process dies.
 */
export function spawnOwned(owner: Owner, clock: Clock): SpawnServer {
  return async (command, args, env, cwd) => {
    const letGo = owner.lifeline.extend();
    try {
      const mark = owner.newMark();
      const spawned = await spawnMarked({ command, args, env, cwd, label: "its program" }, mark);
      const { child, pid, stdin, stdout, stderr } = spawned;
      const family = new Family(pid, mark, owner.table, false);
      const callOff = owner.lifeline.hold(pid);
      const { promise: exited, resolve } = Promise.withResolvers<Exit>();
      child.once("exit", (code, signal) => {
        // At once, before the number of the group can be somebody else's.
        family.kill();
        callOff();
        resolve({ code, signal });
      });
      let ended: Promise<void> | undefined;
      const end = async () => {
        await family.terminate();
        if (!(await settlesWithin(exited, PATIENCE_MS, clock))) family.kill();
        await exited;
        await family.end().finally(letGo);
      };
      const kill = () => {
        // Whoever could not be looked for is left to the lifeline and to the next start.
        ended ??= end().catch(() => undefined);
        return ended;
      };
      return { stdin, stdout, stderr, exited, kill };
    } catch (error) {
      letGo();
      throw error;
    }
  };
}
