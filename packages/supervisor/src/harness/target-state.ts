import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "@reins/kit";
import { type Action, runInputs } from "@reins/policy";

/** How many targets are looked at; an action that changes more is bound to these. */
const MAX_TARGETS = 64;
/** How much of a target is read; longer ones are identified by size and times, too. */
const MAX_BYTES = 4 * 1024 * 1024;

/** What an action would change is now: path to digest, or `absent`. An answer counts for exactly that. */
export async function targetState(action: Action): Promise<Record<string, string>> {
  const deep = new Map<string, boolean>();
  for (const effect of action.effects)
    if (effect.kind === "write")
      deep.set(effect.path, (deep.get(effect.path) ?? false) || effect.deep === true);
  const targets = [...deep].toSorted(([left], [right]) => (left < right ? -1 : 1)).slice(0, MAX_TARGETS);
  const states = targets.map(async ([path, isDeep]) => [path, await stateOf(path, isDeep)] as const);
  return Object.fromEntries(await Promise.all(states));
}

/** What the files are now that an action runs, has read by a build tool, or sends: path to digest. */
export async function inputState(action: Action, cwd: string): Promise<Record<string, string>> {
  const { files, folders } = await runInputs(action, cwd);
  const inputs = [
    ...files.map((path) => [path, false] as const),
    ...folders.map((path) => [path, true] as const),
  ];
  const states = inputs.map(async ([path, isDeep]) => [path, await stateOf(path, isDeep)] as const);
  return Object.fromEntries(await Promise.all(states));
}

async function stateOf(path: string, isDeep: boolean): Promise<string> {
  try {
    // Non-blocking: opening a pipe without a writer would wait.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = await file.stat();
      if (stat.isDirectory() && isDeep)
        return `folder ${stat.dev}/${stat.ino}, below ${await digestBelow(path)}`;
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
    const code = errorCode(error) ?? "unknown";
    return code === "ENOENT" ? "absent" : `unreadable, ${code}`;
  }
}

/** The most entries of a folder that are read; the others do not count. */
const MAX_ENTRIES = 2_000;

/** A digest of what lies below a folder: names, kinds, sizes and times. Links are not followed. */
async function digestBelow(folder: string): Promise<string> {
  const hash = createHash("sha256");
  const pending = [""];
  let entries = 0;
  // The list grows during the loop, level by level, so that a tree is always read in the same order.
  for (const inside of pending) {
    const names = (await readdir(join(folder, inside))).toSorted();
    for (const name of names) {
      if (entries === MAX_ENTRIES) return `sha256:${hash.digest("hex")} of the first ${MAX_ENTRIES} entries`;
      entries += 1;
      const path = join(inside, name);
      const found = await lstat(join(folder, path));
      if (found.isDirectory()) pending.push(path);
      const facts = found.isDirectory() ? ["folder"] : [found.mode, found.size, found.mtimeMs, found.ino];
      hash.update(`${JSON.stringify([path, ...facts])}\n`);
    }
  }
  return `sha256:${hash.digest("hex")}`;
}
