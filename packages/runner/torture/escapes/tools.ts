import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, type NetConnectOpts } from "node:net";
import { join } from "node:path";
import type { Targets } from "./targets.ts";

/** Gives what it got; whatever fails got nothing. */
export type Try = () => string | undefined | Promise<string | undefined>;

/** What to go for. From a file, because command lines are among the things to be found. */
export const targets: Targets = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
/** Our database. */
export const secret = join(targets.reins, "reins.db");
const kept = readFileSync(targets.outside, "utf8");

/** Whether a text holds a secret. */
export function holding(text: string): string | undefined {
  return text.includes(targets.canary) ? "a secret" : undefined;
}

/** The pids that can be seen, but for our own. */
export function otherPids(): string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && name !== `${process.pid}`);
}

/** What a program says. */
export function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    timeout: 20_000,
  });
}

/** What a script says. */
export function shell(script: string): string {
  return run("sh", "-c", script);
}

/** Opens a file and no more: should it succeed, the machine is not to suffer. */
export function opened(path: string, how: "r" | "r+" | "a"): string {
  closeSync(openSync(path, how));
  return path;
}

/** Writes a file. */
export function write(path: string): string {
  writeFileSync(path, targets.canary);
  return "wrote it";
}

/** Whether the file outside is another. */
export function changed(): string | undefined {
  return readFileSync(targets.outside, "utf8") === kept ? undefined : "changed a file outside";
}

/** What something gives, unless it fails. */
export function quietly<Result>(attempt: () => Result): Result | undefined {
  try {
    return attempt();
  } catch {
    return undefined;
  }
}

/** What is got with the first item that gets anything. */
export function firstOf<Item>(
  items: readonly Item[],
  attempt: (item: Item) => string | undefined,
): string | undefined {
  for (const item of items) {
    const got = quietly(() => attempt(item));
    if (got !== undefined) return got;
  }
  return undefined;
}

/** Connects to a socket or a port. */
export async function connected(where: NetConnectOpts): Promise<string> {
  const socket = connect(where);
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(2_000) });
    return "reached it";
  } finally {
    socket.destroy();
  }
}
