import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { AhpError } from "@reins/ahp";
import { errorMessage } from "@reins/kit";
import type { Target } from "../target.ts";
import { LineChannel } from "./line-channel.ts";

/** How long a harness has to leave after its input ended. */
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

/** What {@link openStdio} says of a process that left by itself and in peace. */
export const LEFT_IN_PEACE = "the process exited with status 0";

function howItEnded(code: number | null, signal: string | null, complaints: string): string {
  if (code === 0) return LEFT_IN_PEACE;
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
