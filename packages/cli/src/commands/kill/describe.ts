import type { KillReport } from "@reins/api";
import { printableLine } from "../../printable.ts";

const MOST_LINES = 40;

/** What became of a kill, for people. */
export function describeKill(report: KillReport): string {
  const { gone, left, sessions, inside, entry, sight } = report;
  const lines = [
    `${counted(gone.length, "process", "processes")} gone${left.length > 0 ? `, ${left.length} LEFT` : ""}`,
    ...left.map(({ pid, command }) => `  ! ${pid}  ${printableLine(command)}`),
    ...gone.slice(0, MOST_LINES).map(({ pid, command }) => `    ${pid}  ${printableLine(command)}`),
    ...(gone.length > MOST_LINES ? [`    and ${gone.length - MOST_LINES} more`] : []),
    ...(sessions.length > 0 ? [`${counted(sessions.length, "session", "sessions")} cut off`] : []),
    ...(inside.length > 0
      ? [`${inside.length} of them have no process of their own: Reins ends their turns itself`]
      : []),
    ...(sight === "group"
      ? ["this system shows process groups alone; what left its group was not seen"]
      : []),
    entry === null
      ? "Reins does not answer now; it writes this down as soon as it can, at the latest when it is next started"
      : `in the ledger: ${entry}`,
  ];
  return `${lines.join("\n")}\n`;
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
