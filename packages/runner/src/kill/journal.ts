import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { KillOrder, KillReport } from "./order.ts";

const Line = z.union([
  z.object({ order: KillOrder, at: z.string() }),
  z.object({ report: KillReport }),
  z.object({ recorded: z.string() }),
]);
type Line = z.infer<typeof Line>;

/** An order of which the ledger may not know yet, with what became of it, if that was found out. */
export interface UnrecordedKill {
  readonly order: KillOrder;
  readonly at: string;
  readonly report: KillReport | undefined;
}

/**
 * What was ordered and what became of it, on the disk before anything else happens: the ledger learns of it when Reins
 * can write to it again, if need be at its next start.
 */
export class KillJournal {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Notes an order that is about to be carried out. */
  ordered(order: KillOrder, at: Date): void {
    this.#append({ order, at: at.toISOString() });
  }

  /** Notes what became of it. Command lines are left out: they may hold secrets. */
  reported(report: KillReport): void {
    const bare = ({ pid, agent }: KillReport["gone"][number]) => ({ pid, agent, command: "" });
    this.#append({ report: { ...report, gone: report.gone.map(bare), left: report.left.map(bare) } });
  }

  /** Notes that the ledger has it. Where it has all, nothing is kept. */
  recorded(id: string): void {
    this.#append({ recorded: id });
    this.forgetRecorded();
  }

  /** What the ledger may not know, the oldest first. */
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

  /** Forgets everything, if the ledger has all of it. */
  forgetRecorded(): void {
    if (this.unrecorded().length === 0) rmSync(this.#path, { force: true });
  }

  #append(line: Line): void {
    const file = openSync(this.#path, "a", 0o600);
    try {
      // A line before it that was cut off must not take this one along.
      writeSync(file, `\n${JSON.stringify(line)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }
}

/** The lines of a journal; one that was cut off in the middle says nothing. */
function linesIn(path: string): readonly Line[] {
  const text = textOf(path);
  return text.split("\n").flatMap((line) => lineOf(line) ?? []);
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

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}

/** The socket on which the agents of a home are ended. */
export function killSocketIn(home: string): string {
  return join(home, "kill.sock");
}

/** The file of a home that holds what was ended and the ledger may not know yet. */
export function killJournalIn(home: string): string {
  return join(home, "kills.jsonl");
}
