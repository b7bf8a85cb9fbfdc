import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { Action } from "@reins/policy";

/** How many targets are looked at; an action that changes more is bound to these. */
const MAX_TARGETS = 64;
/** How much of a target is read; what is longer is told apart by its size and times too. */
const MAX_BYTES = 4 * 1024 * 1024;

/** What the files that an action would change are now: path to digest, or `absent`. An answer counts for exactly that. */
export async function targetState(action: Action): Promise<Record<string, string>> {
  const paths = action.effects.flatMap((effect) => (effect.kind === "write" ? [effect.path] : []));
  const targets = [...new Set(paths)].toSorted().slice(0, MAX_TARGETS);
  return Object.fromEntries(await Promise.all(targets.map(async (path) => [path, await stateOf(path)])));
}

async function stateOf(path: string): Promise<string> {
  try {
    // Without waiting, because a pipe that nobody writes to would be waited for.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) return `not a file, ${stat.dev}/${stat.ino}`;
      const start = Buffer.alloc(Math.min(stat.size, MAX_BYTES));
      await file.read(start, 0, start.length, 0);
      const digest = createHash("sha256").update(start).digest("hex");
      return stat.size > MAX_BYTES
        ? `sha256:${digest}, ${stat.size} bytes, ${stat.mtimeMs}`
        : `sha256:${digest}`;
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return code === "ENOENT" ? "absent" : `unreadable, ${code}`;
  }
}
