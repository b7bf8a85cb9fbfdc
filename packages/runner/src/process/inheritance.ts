import type { StdioOptions } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";

const O_CLOEXEC = 0o2000000;

/**
 * Starts a child that has its three streams and no other descriptor. Those that we open ourselves are never handed
 * on, but we may have been started with more, by an editor for instance, and a child would hold them open for ever:
 * in the child, nothing is put in their place.
 */
export function withoutInheritance<Result>(
  streams: readonly ["pipe", "pipe" | "ignore", "pipe" | "ignore"],
  start: (stdio: StdioOptions) => Result,
): Result {
  const inherited = inheritable();
  const last = inherited.at(-1);
  if (last === undefined) return start([...streams]);
  const nothing = openSync("/dev/null", "r+");
  try {
    const rest = Array.from({ length: last - 2 }, (_, index) =>
      inherited.includes(index + 3) ? nothing : ("ignore" as const),
    );
    return start([...streams, ...rest]);
  } finally {
    closeSync(nothing);
  }
}

/** The descriptors that every child would get, where the system tells. */
function inheritable(): number[] {
  try {
    return readdirSync("/proc/self/fdinfo")
      .map(Number)
      .filter(isInheritable)
      .sort((left, right) => left - right);
  } catch {
    return [];
  }
}

function isInheritable(descriptor: number): boolean {
  if (descriptor <= 2) return false;
  try {
    const [, flags] = /^flags:\t(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8")) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch {
    // It was ours, for reading the folder, and is closed by now.
    return false;
  }
}
