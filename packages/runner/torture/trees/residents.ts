import { readdirSync, readFileSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { homePrefix } from "../../src/process/process-table.ts";

/** A process that has to do with a folder. */
export interface Resident {
  readonly pid: number;
  readonly what: string;
}

/**
 * Who works in a folder, or has it in its command line: found without looking at any mark, group or parent, so that
 * what is tested is not what it is tested with.
 */
export function residentsOf(folder: string): Resident[] {
  const { dev, ino } = statSync(folder);
  return livingWho(({ pid, what }) => {
    if (pid === process.pid) return false;
    if (what.includes(folder)) return true;
    const place = attempt(() => statSync(`/proc/${pid}/cwd`));
    return place?.dev === dev && place.ino === ino;
  });
}

/** The processes that watch over agents of a home. */
export function lifelinesOf(home: string): Resident[] {
  return livingWho(({ what }) => what.includes(`reins-lifeline REINS_PROCESS=${homePrefix(home).text}`));
}

function livingWho(isMeant: (one: Resident) => boolean): Resident[] {
  const found: Resident[] = [];
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const status = attempt(() => readFileSync(`/proc/${name}/stat`, "latin1")) ?? "";
    const state = status.slice(status.lastIndexOf(")") + 2)[0];
    if (state === undefined || state === "Z" || state === "X") continue;
    const words = attempt(() => readFileSync(`/proc/${name}/cmdline`, "utf8")) ?? "";
    const one = { pid: Number(name), what: words.replaceAll("\0", " ") };
    if (isMeant(one)) found.push(one);
  }
  return found;
}

/** What a process lets one see, unless it has gone meanwhile. */
function attempt<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** Looks for some processes until there are none, or the time is over; gives who is left. */
export async function gone(
  look: () => readonly Resident[],
  milliseconds: number,
): Promise<readonly Resident[]> {
  const end = performance.now() + milliseconds;
  for (;;) {
    const left = look();
    if (left.length === 0 || performance.now() > end) return left;
    await sleep(20);
  }
}

/** Waits until a tree stands: until it has left so many `up.*` files. */
export async function standing(folder: string, ups: number, signal: AbortSignal): Promise<void> {
  const end = performance.now() + 30_000;
  for (;;) {
    signal.throwIfAborted();
    const found = readdirSync(folder).filter((name) => name.startsWith("up.")).length;
    if (found >= ups) return;
    if (performance.now() > end) throw new Error(`only ${found} of ${ups} processes came up`);
    await sleep(10);
  }
}

/** Kills every process that is left, so that a failure leaves nothing behind. */
export function clear(folder: string): void {
  for (let round = 0; round < 50; round += 1) {
    const left = residentsOf(folder);
    if (left.length === 0) return;
    for (const { pid } of left) attempt(() => process.kill(pid, "SIGKILL"));
  }
}
