import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { BlockedOrder } from "./blocked-reins.ts";

/** A process that plays Reins and can be blocked. */
export interface BlockedReins {
  /** Blocks its main thread; settles when it is. */
  block(): Promise<void>;
  /** Lets it go on, and gives the kill entry of its ledger. */
  release(): Promise<unknown>;
  /** Kills it as suddenly as one can. */
  end(): Promise<void>;
}

/** Starts it, and waits until its agents run. */
export async function startBlocked(order: BlockedOrder): Promise<BlockedReins> {
  const script = fileURLToPath(new URL("./blocked-reins.ts", import.meta.url));
  // In a file, because who has the folder of a tree in its command line is taken for a part of the tree.
  const file = `${order.go}.order`;
  await writeFile(file, JSON.stringify(order));
  const child = spawn(process.execPath, [script, file], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const end = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  onTestFinished(end);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  return {
    block: async () => {
      child.stdin.write("block\n");
      await lines.next();
    },
    release: async () => {
      await writeFile(order.go, "");
      return JSON.parse((await lines.next()).value ?? "null");
    },
    end,
  };
}
