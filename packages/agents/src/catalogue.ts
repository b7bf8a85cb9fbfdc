import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hasCode } from "@reins/kit";
import type { Wordings } from "@reins/scripted-model";
import { z } from "zod";
import { AgentEntry } from "./agent-entry.ts";
import { AgentError } from "./agent-error.ts";
import { currentVersion, provenanceIn } from "./install/version-folders.ts";

const File = z.strictObject({ agents: z.array(z.unknown()) });

/** The agents that this package knows, once they were read: a home asks for them several times while it is opened. */
let ours: readonly AgentEntry[] | undefined;
/** The parts of Reins that act in sessions as agents do; no person chooses one, and no operator replaces it. */
let unlisted: readonly AgentEntry[] | undefined;

/** The agents that this package knows. */
export function ourEntries(): readonly AgentEntry[] {
  ours ??= ["native.json", "agents.json"].flatMap(agentsIn).map(readEntry);
  return ours;
}

/** The agents that can be run. */
export class Catalogue {
  readonly #entries: ReadonlyMap<string, AgentEntry>;
  /** The folder that holds one folder for each agent, some of which came from a registry. */
  readonly #installs: string | undefined;

  private constructor(entries: ReadonlyMap<string, AgentEntry>, installs: string | undefined) {
    this.#entries = entries;
    this.#installs = installs;
  }

  /**
   * The agents this package knows, with those an operator adds in the same form, and those that were installed from a
   * registry into a folder. One of the operator's takes the place of ours with the same id; one of a registry never does.
   */
  static load(custom: readonly unknown[] = [], installs?: string): Catalogue {
    unlisted ??= agentsIn("clients.json").map(readEntry);
    const entries = [...ourEntries(), ...custom.map(readEntry)];
    return new Catalogue(new Map(entries.map((entry) => [entry.id, entry])), installs);
  }

  /** All agents, in the order of the catalogue; those of a registry last. */
  get entries(): readonly AgentEntry[] {
    const others = foldersIn(this.#installs).filter((name) => !this.#entries.has(name));
    return [...this.#entries.values(), ...others.flatMap((name) => this.find(name) ?? [])];
  }

  /** The agent of that id, if there is one. */
  find(id: string): AgentEntry | undefined {
    const own = unlisted?.find((one) => one.id === id) ?? this.#entries.get(id);
    return own ?? (this.#installs === undefined ? undefined : entryFrom(this.#installs, id));
  }

  /** The agent of that id. Throws when there is none. */
  entry(id: string): AgentEntry {
    const entry = this.find(id);
    if (entry) return entry;
    const known = this.entries.map((one) => one.id).join(", ");
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

const NAME = /^[a-z][a-z0-9-]*$/;

function foldersIn(installs: string | undefined): readonly string[] {
  if (installs === undefined) return [];
  try {
    return readdirSync(installs).filter((name) => NAME.test(name));
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

/** The entry that the install in use of an agent was made with; undefined for one that is not installed from a registry. */
function entryFrom(installs: string, id: string): AgentEntry | undefined {
  if (!NAME.test(id)) return undefined;
  const folder = join(installs, id);
  const version = currentVersion(folder);
  const provenance = version === undefined ? undefined : provenanceIn(join(folder, version));
  const read = AgentEntry.safeParse(provenance?.entry, { jitless: true });
  return read.success && read.data.id === id && read.data.fromRegistry ? read.data : undefined;
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
