import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { hasCode } from "@reins/kit";
import { z } from "zod";

/** Which agents to kill, and who ordered it. */
export const KillOrder = z.object({
  /** Unique. */
  id: z.string().min(1).max(64),
  target: z.discriminatedUnion("kind", [
    /** Every agent of the tenant; without a tenant, every process of this home. */
    z.object({ kind: z.literal("all") }),
    z.object({ kind: z.literal("agent"), name: z.string().min(1) }),
    /** The id of a session, or a prefix of it. */
    z.object({ kind: z.literal("session"), name: z.string().min(1) }),
    z.object({ kind: z.literal("process"), name: z.string().min(1) }),
  ]),
  /** Restricts the order to a tenant; null for the operator, who reaches all. */
  tenant: z.string().nullable(),
  /** The actor, as in the ledger. */
  by: z.string().min(1),
  reason: z.string().max(1_024).nullable(),
});
export type KillOrder = z.infer<typeof KillOrder>;

const Seen = z.object({ pid: z.number(), command: z.string(), agent: z.string().nullable() });

/** The outcome of an order, as the operating system shows it. */
export const KillReport = z.object({
  id: z.string(),
  target: z.object({ kind: z.enum(["all", "agent", "session", "process"]), name: z.string().nullable() }),
  /** The tenant of the agents; null if unknown or several. */
  tenant: z.string().nullable(),
  by: z.string(),
  reason: z.string().nullable(),
  /** RFC 3339. */
  at: z.string(),
  /** Processes that are gone from the process table. */
  gone: z.array(Seen),
  /** Processes that are still in it. */
  left: z.array(Seen),
  visibility: z.enum(["marks", "group"]),
  /** The sessions of killed agents. */
  sessions: z.array(z.string()),
  /** Those among them whose agent has no process of its own: only the host can end their turns. */
  inside: z.array(z.string()),
});
export type KillReport = z.infer<typeof KillReport>;

const Line = z.union([
  z.object({ order: KillOrder, at: z.string() }),
  z.object({ report: KillReport }),
  z.object({ recorded: z.string() }),
]);
type Line = z.infer<typeof Line>;

/** An order that the ledger may lack, with its report if there is one. */
export interface UnrecordedKill {
  readonly order: KillOrder;
  readonly at: string;
  readonly report: KillReport | undefined;
}

/**
 * Orders and reports, on disk before anything else happens. The ledger gets them when Reins can write to it again, at the
 * latest at its next start.
 */
export class KillJournal {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Appends an order before it is executed. */
  ordered(order: KillOrder, at: Date): void {
    this.#append({ order, at: at.toISOString() });
  }

  /** Appends a report without command lines, which may hold secrets. */
  reported(report: KillReport): void {
    const bare = ({ pid, agent }: KillReport["gone"][number]) => ({ pid, agent, command: "" });
    this.#append({ report: { ...report, gone: report.gone.map(bare), left: report.left.map(bare) } });
  }

  /** Marks an order as recorded in the ledger. Removes the file once all are. */
  recorded(id: string): void {
    this.#append({ recorded: id });
    this.forgetRecorded();
  }

  /** Returns the orders that the ledger may lack, oldest first. */
  unrecorded(): readonly UnrecordedKill[] {
    const kills = new Map<string, UnrecordedKill>();
    for (const line of linesIn(this.#path)) {
      if ("order" in line) kills.set(line.order.id, { ...line, report: undefined });
      else if ("recorded" in line) kills.delete(line.recorded);
      else {
        const known = kills.get(line.report.id);
        if (known) kills.set(line.report.id, { ...known, report: line.report });
      }
    }
    return [...kills.values()];
  }

  /** Removes the file if every order is recorded. */
  forgetRecorded(): void {
    if (this.unrecorded().length === 0) rmSync(this.#path, { force: true });
  }

  #append(line: Line): void {
    const file = openSync(this.#path, "a", 0o600);
    try {
      // A line before it that was cut off must not swallow this one.
      writeSync(file, `\n${JSON.stringify(line)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }
}

/** Reads the lines of a journal; skips lines that were cut off. */
function linesIn(path: string): readonly Line[] {
  return textIn(path)
    .split("\n")
    .flatMap((line) => lineOf(line) ?? []);
}

function lineOf(line: string): Line | undefined {
  if (line === "") return undefined;
  try {
    return Line.safeParse(JSON.parse(line)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function textIn(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return "";
    throw error;
  }
}

/** The socket on which the agents of a home are killed. */
export function killSocketIn(home: string): string {
  return join(home, "kill.sock");
}

/** The journal of kills of a home. */
export function killJournalIn(home: string): string {
  return join(home, "kills.jsonl");
}
