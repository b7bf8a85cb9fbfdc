import { readFileSync } from "node:fs";
import type { Wordings } from "@reins/scripted-model";
import { z } from "zod";
import { AgentEntry } from "./agent-entry.ts";
import { AgentError } from "./agent-error.ts";

const File = z.strictObject({ agents: z.array(z.unknown()) });

/** The agents that this package knows, once they were read: a home asks for them several times while it is opened. */
let ours: readonly AgentEntry[] | undefined;
/** The parts of Reins that act in sessions as agents do; no person chooses one, and no operator replaces it. */
let unlisted: readonly AgentEntry[] | undefined;

/** The agents that can be run. */
export class Catalogue {
  readonly #entries: ReadonlyMap<string, AgentEntry>;

  private constructor(entries: ReadonlyMap<string, AgentEntry>) {
    this.#entries = entries;
  }

  /**
   * The agents this package knows, with those an operator adds in the same form. One of the operator's takes the place
   * of ours with the same id.
   */
  static load(custom: readonly unknown[] = []): Catalogue {
    ours ??= ["native.json", "agents.json"].flatMap(agentsIn).map(readEntry);
    unlisted ??= agentsIn("clients.json").map(readEntry);
    const entries = [...ours, ...custom.map(readEntry)];
    return new Catalogue(new Map(entries.map((entry) => [entry.id, entry])));
  }

  /** All agents, in the order of the catalogue. */
  get entries(): readonly AgentEntry[] {
    return [...this.#entries.values()];
  }

  /** The agent of that id. Throws when there is none. */
  entry(id: string): AgentEntry {
    const entry = unlisted?.find((one) => one.id === id) ?? this.#entries.get(id);
    if (entry) return entry;
    const known = [...this.#entries.keys()].join(", ");
    throw new AgentError("unknown_agent", `There is no agent "${id}". Known are ${known}.`);
  }

  /** The variables of the environment that agents get their credentials from. */
  get credentialVariables(): readonly string[] {
    return [...new Set(this.entries.flatMap(({ credentials }) => credentials.variables))];
  }

  /** How the tools of all agents carry out what the scripted model means to do. */
  get wordings(): readonly Wordings[] {
    return this.entries.map(({ wordings }) => wordings);
  }
}

/** The agents in a file that this package brings along. */
function agentsIn(name: string): readonly unknown[] {
  const file = new URL(`../catalogue/${name}`, import.meta.url);
  return File.parse(JSON.parse(readFileSync(file, "utf8"))).agents;
}

function readEntry(document: unknown): AgentEntry {
  // Each is read once, which takes half as long without compiling the schema first.
  const read = AgentEntry.safeParse(document, { jitless: true });
  if (read.success) return read.data;
  const named = z.looseObject({ id: z.string() }).safeParse(document);
  const faults = read.error.issues.map(({ path, message }) => `  ${path.join(".") || "entry"}: ${message}`);
  throw new AgentError(
    "invalid_entry",
    `The agent ${named.success ? `"${named.data.id}"` : "without an id"} cannot be used:\n${faults.join("\n")}`,
  );
}
