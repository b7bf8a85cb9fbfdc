import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** How long a start took, in milliseconds. */
export interface StartTimes {
  /** Until the page was served. */
  readonly page: number;
  /** Until the harness, its ledger open, said who asks. */
  readonly harness: number;
}

/** Starts a Reins on a home, waits until it is of use, and ends it. */
export async function timedStart(program: readonly string[], home: string): Promise<StartTimes> {
  const [command = "", ...args] = program;
  const began = performance.now();
  const child = spawn(command, [...args, "--home", home, "--port", "0", "--no-open"], {
    cwd: ROOT,
    // A group of its own, because npm does not pass everything on to what it started.
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  try {
    const address = await addressIn(child.stdout);
    const token = (await readFile(join(home, "start-token"), "utf8")).trim();
    const answered = async (path: string) => {
      const { ok, status } = await fetch(address + path, { headers: { authorization: `Bearer ${token}` } });
      if (!ok) throw new Error(`${path} was answered with ${status}`);
      return performance.now() - began;
    };
    const [page, harness] = await Promise.all([answered("/ui/"), answered("/v1/whoami")]);
    return { page, harness };
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM");
    await ended;
  }
}

/** Where a Reins says that it listens. */
async function addressIn(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: output })) {
    if (!line.startsWith("{")) continue;
    const { transport, address }: { transport?: string; address?: string } = JSON.parse(line);
    if (transport === "http" && address !== undefined) return address.replace(/\/ahp$/, "");
  }
  throw new Error("Reins ended before it listened");
}
