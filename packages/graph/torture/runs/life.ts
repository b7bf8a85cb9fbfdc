import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { RunsOrder, RunsReport } from "./order.ts";

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));
const LONGEST_MS = 120_000;

/** Lets a process continue runs until it is killed, by itself or after a time; returns what it said. */
export async function live(order: RunsOrder, killAfterMs?: number): Promise<readonly RunsReport[]> {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(order)], { stdio: ["pipe", "pipe", "pipe"] });
  const timer = setTimeout(() => child.kill("SIGKILL"), killAfterMs ?? LONGEST_MS);
  const exited = once(child, "exit");
  let errors = "";
  child.stderr.on("data", (data) => {
    errors += data;
  });
  const reports: RunsReport[] = [];
  // The other process has the types of this one.
  for await (const line of createInterface({ input: child.stdout })) reports.push(JSON.parse(line));
  await exited;
  clearTimeout(timer);
  if (errors !== "") throw new Error(`the process that was to be killed failed: ${errors}`);
  return reports;
}
