import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ParentOrder } from "./parent.ts";

/** A process that plays Reins. */
export interface Parent {
  readonly pid: number;
  /** Of the agents it started. */
  readonly agents: readonly number[];
  /** Kills it as suddenly as one can. */
  kill(): Promise<void>;
}

/** Starts a process that plays Reins, and waits until its agents run. It can be given more descriptors than it needs. */
export async function startParent(
  order: ParentOrder,
  more: readonly ("ignore" | number)[] = [],
): Promise<Parent> {
  const script = fileURLToPath(new URL("./parent.ts", import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(order)], {
    stdio: ["pipe", "pipe", "pipe", ...more],
  });
  const exited = once(child, "exit");
  let complaints = "";
  child.stderr?.on("data", (chunk) => {
    complaints += chunk;
  });
  const said = child.stdout ? once(createInterface({ input: child.stdout }), "line") : exited;
  const [line] = await Promise.race([said, exited]);
  if (typeof line !== "string" || child.pid === undefined)
    throw new Error(`the process that plays Reins did not start: ${complaints}`);
  return {
    pid: child.pid,
    agents: JSON.parse(line),
    kill: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
