import type { Swept } from "../../src/process/sweep.ts";
import type { Planted } from "./planted.ts";
import type { Resident } from "./residents.ts";

/** What is promised of a confined tree. */
export const PROMISED_MS = 2_000;

/** No process of a tree may be left. */
export function expectNone(left: readonly Resident[], { tree }: Planted): void {
  if (left.length === 0) return;
  throw new Error(`still there after ${PROMISED_MS} ms: ${told(left)}\nof a tree that ${tree.shape}`);
}

/** No lifeline is left of agents that are gone. */
export function expectNobodyWatching(left: readonly Resident[]): void {
  if (left.length > 0) throw new Error(`lifelines without agents: ${told(left)}`);
}

/** A report has to say what the process table says. */
export function expectTruth(report: Swept, there: readonly Resident[], { tree, folder }: Planted): void {
  const alive = new Set(there.map(({ pid }) => pid));
  const left = new Set(report.left.map(({ pid }) => pid));
  const untold = there.filter(({ pid }) => !left.has(pid));
  const imagined = report.left.filter(({ pid, command }) => command.includes(folder) && !alive.has(pid));
  const denied = report.gone.filter(({ pid }) => alive.has(pid));
  if (untold.length + imagined.length + denied.length === 0) return;
  throw new Error(
    `the report is wrong. There and not told: ${told(untold)}; told and not there: ${told(imagined)}; ` +
      `there and told as gone: ${told(denied)}\nof a tree that ${tree.shape}`,
  );
}

function told(
  those: readonly { readonly pid: number; readonly what?: string; readonly command?: string }[],
): string {
  return (
    those.map(({ pid, what, command }) => `${pid} (${(what ?? command ?? "").slice(0, 80)})`).join(", ") ||
    "none"
  );
}
