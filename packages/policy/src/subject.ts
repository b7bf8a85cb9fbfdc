import { z } from "zod";

/** How well an agent is known. */
export const TRUST_LEVELS = ["unknown", "registered", "standing"] as const;
export type Trust = (typeof TRUST_LEVELS)[number];

/** How the work was started. */
export const STARTS = ["interactive", "sub-agent", "background", "api"] as const;
export type Started = (typeof STARTS)[number];

/** Whether an action that was not allowed can happen all the same, from the strongest hold to none. */
export const ENFORCEMENTS = ["performed", "confined", "asked", "observed"] as const;
export type Enforcement = (typeof ENFORCEMENTS)[number];

/** Who asks for an action. A name that belongs to one side means nothing when the other uses it. */
export const ORIGINS = ["agent", "client"] as const;
export type Origin = (typeof ORIGINS)[number];

/** What an action can reach over the network: nothing, the hosts that are named for it, or everything. */
export const NETWORKS = ["off", "hosts", "open"] as const;
export type NetworkReach = (typeof NETWORKS)[number];

/** The action of a graph that asks, where the runtime of graphs does. */
export interface SubjectGraph {
  readonly run: string;
  /** Who executes it, as the runtime chose: a type and a name, such as `service:tickets`. */
  readonly executor: string;
  /** What the model calls the action and what it is to do: claims, which can make a verdict stricter, never looser. */
  readonly action: string;
  readonly operation?: string;
}

/** A sub-agent of an agent in a terminal, as that agent's hook names it. */
export interface Subagent {
  readonly id: string;
  /** What kind of sub-agent it is. */
  readonly type: string;
}

/** On whose behalf, and through whom, an action is asked for: what the harness knows, never what the agent claims. */
export interface Subject {
  readonly user: string;
  readonly tenant: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly agent: string;
  /** What it called itself, where its token says that it is another. */
  readonly claimed_agent?: string;
  readonly trust: Trust;
  readonly session: string;
  /** The key of the session, `<agent>:<channel>:<peer>`, under which its entries are chained. */
  readonly session_key?: string;
  /** The session that the user started, when this one was delegated; limits count for the whole tree. */
  readonly root_session?: string;
  readonly started: Started;
  /** The agents between the one the user started and the one that acts, outermost first; empty for the former. */
  readonly chain: readonly string[];
  readonly depth: number;
  readonly mode: string;
  readonly enforcement: Enforcement;
  /** What the operating system lets it reach over the network; absent where nothing limits that. */
  readonly network?: NetworkReach;
  /** Who asks, as the harness saw it; absent for the agent. */
  readonly origin?: Origin;
  /** The sub-agent that acts, where the agent's hook says that one does: its calls are in the session of its parent. */
  readonly subagent?: Subagent;
  /** The action of a graph that it belongs to; absent for what an agent or a client asks for itself. */
  readonly graph?: SubjectGraph;
}

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
