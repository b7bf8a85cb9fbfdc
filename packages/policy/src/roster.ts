import { z } from "zod";
import type { Trust } from "./subject.ts";

/** One line of `agent-roster.jsonl`. Members we do not know stay. */
export const RosterEntry = z.looseObject({
  /** The agent's id. */
  session_id: z.string().min(1),
  kind: z.string().optional(),
  state: z.string().optional(),
  /** A file with the agent's mandate. */
  mandate: z.string().optional(),
});
export type RosterEntry = z.infer<typeof RosterEntry>;

/** Who is known. Of several lines about one agent the last counts. */
export class Roster {
  readonly entries: readonly RosterEntry[];
  /** Lines that could not be read; the agents on them are unknown. */
  readonly faults: readonly string[];
  readonly #byId: ReadonlyMap<string, RosterEntry>;

  private constructor(entries: readonly RosterEntry[], faults: readonly string[]) {
    this.entries = entries;
    this.faults = faults;
    this.#byId = new Map(entries.map((entry) => [entry.session_id, entry]));
  }

  /** Reads a roster line by line. */
  static read(text: string): Roster {
    const entries: RosterEntry[] = [];
    const faults: string[] = [];
    for (const [index, line] of text.split("\n").entries()) {
      if (line.trim() === "") continue;
      const entry = readEntry(line);
      if (entry) entries.push(entry);
      else faults.push(`line ${index + 1} is no roster entry`);
    }
    return new Roster(entries, faults);
  }

  /** The agent's entry, if it has one. */
  find(agent: string): RosterEntry | undefined {
    return this.#byId.get(agent);
  }

  /** Unknown unless on the roster and not dead; standing if it is a live role. */
  trustOf(agent: string): Trust {
    const entry = this.find(agent);
    if (!entry || entry.state === "dead") return "unknown";
    return entry.kind === "role" && entry.state === "live" ? "standing" : "registered";
  }
}

function readEntry(line: string): RosterEntry | undefined {
  try {
    return RosterEntry.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
