import { readdirSync, readFileSync } from "node:fs";

/** What processes take: how many there are, and how much memory they hold. */
export interface MemoryUse {
  readonly processes: number;
  readonly bytes: number;
}

const PID = /^[1-9]\d*$/;

/**
 * What each of some families takes: the groups that its roots lead, and their children. One look through `/proc` for
 * all of them; `undefined` where there is none.
 */
export function memoryOf(families: readonly (readonly number[])[]): readonly MemoryUse[] | undefined {
  const uses = families.map(() => ({ processes: 0, bytes: 0 }));
  const names = attempt(() => readdirSync("/proc"))?.filter((name) => PID.test(name));
  if (!names || names.length === 0) return undefined;
  const familyOf = new Map<number, number>();
  for (const [index, roots] of families.entries()) for (const pid of roots) familyOf.set(pid, index);
  const groups = new Map(familyOf);
  for (const name of names.sort((left, right) => Number(left) - Number(right))) {
    const status = attempt(() => readFileSync(`/proc/${name}/status`, "latin1"));
    if (status === undefined) continue;
    const index = groups.get(numberIn(status, "NSpgid")) ?? familyOf.get(numberIn(status, "PPid"));
    const use = index === undefined ? undefined : uses[index];
    if (index === undefined || !use) continue;
    familyOf.set(Number(name), index);
    use.processes += 1;
    use.bytes += numberIn(status, "VmRSS") * 1_024;
  }
  return uses;
}

/** The first number on a line of a process's status; 0 when there is none. */
function numberIn(status: string, name: string): number {
  const [, digits = "0"] = new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(status) ?? [];
  return Number(digits);
}

function attempt<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch {
    // The process has gone, or there is no /proc.
    return undefined;
  }
}
