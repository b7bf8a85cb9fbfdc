import { createHash } from "node:crypto";
import { lstat, readdir } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import { hasCode, readJsonFile, replaceFile } from "@reins/kit";
import { z } from "zod";
import type { AgentEntry } from "../agent-entry.ts";
import { AgentError } from "../agent-error.ts";
import { settingsHash } from "../agent-launch.ts";
import type { InstalledAgent } from "../install/installer.ts";
import { readProvenance } from "../install/version-folders.ts";
import { HOLDINGS, ProbeResult, VERIFIED_LEVELS } from "./findings.ts";
import { PROBES } from "./gate-probe.ts";
import type { VerifyReport } from "./verify-agent.ts";

/** The result of a verification, and what exactly was verified. */
const Stamp = z.object({
  agent: z.string(),
  version: z.string(),
  /** What exactly is installed. */
  program: z.string(),
  /** The hash of its command, files and session settings. */
  settings_hash: z.string(),
  /** Whether the operating system confined it. */
  confined: z.boolean(),
  level: z.enum(VERIFIED_LEVELS),
  live: z.boolean(),
  unasked: z.array(z.enum(PROBES)),
  faults: z.array(z.string()),
  /** What holds it back from each thing it may want to do. */
  held: z.record(z.enum(PROBES), z.enum(HOLDINGS)),
  probes: z.array(ProbeResult),
  at: z.string(),
});
export type Stamp = z.infer<typeof Stamp>;

/** The state of verification: never, as it is now, or of an earlier state. */
export type Standing =
  | { readonly state: "unverified" }
  | { readonly state: "verified"; readonly stamp: Stamp }
  | { readonly state: "outdated"; readonly stamp: Stamp; readonly why: string };

/** An agent as it will run. */
export interface RunningAs {
  readonly entry: AgentEntry;
  readonly installed: InstalledAgent;
  /** Whether the operating system confines it. */
  readonly confined?: boolean | undefined;
}

/** The stamps of a home: one file for each agent, beside its installs. */
export class Stamps {
  readonly #folder: string;

  /** @param folder the one that holds a folder for each agent */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Saves the result of a verification. */
  async keep(report: VerifyReport, agent: RunningAs, at: Date): Promise<Stamp> {
    const { level, live, unasked, faults, held, probes } = report;
    const stamp: Stamp = {
      ...(await identityOf(agent)),
      level,
      live,
      unasked: [...unasked],
      faults: [...faults],
      held: { ...held },
      probes: [...probes],
      at: at.toISOString(),
    };
    await replaceFile(this.#file(agent.entry.id), `${JSON.stringify(stamp, undefined, 2)}\n`);
    return stamp;
  }

  /** Compares what was verified with what will run. */
  async standing(agent: RunningAs): Promise<Standing> {
    const stamp = await this.#read(agent.entry.id);
    if (!stamp) return { state: "unverified" };
    const now = await identityOf(agent);
    const why = (["version", "program", "settings_hash", "confined"] as const).find(
      (member) => stamp[member] !== now[member],
    );
    return why === undefined ? { state: "verified", stamp } : { state: "outdated", stamp, why: CHANGES[why] };
  }

  /**
   * The level at which verdicts about an agent are enforced where the operating system does not confine it. What an entry
   * says counts for the version that its lockfile pins and for programs that the operator described; another version, and an
   * agent that nothing is known of, has to be verified as it is now.
   */
  async level(agent: RunningAs): Promise<"asked" | "observed"> {
    const provenance = await readProvenance(agent.installed.folder);
    const isPinned = !provenance || provenance.source === "lockfile";
    if (agent.entry.enforcement.level === "asked" && isPinned) return "asked";
    const standing = await this.standing(agent);
    const isShown = standing.state === "verified" && standing.stamp.live && standing.stamp.level === "asked";
    return isShown ? "asked" : "observed";
  }

  /** Throws unless the agent was verified as it is now, with a live gate. */
  async require(agent: RunningAs): Promise<void> {
    const standing = await this.standing(agent);
    if (standing.state === "verified" && standing.stamp.live) return;
    const { id, name } = agent.entry;
    throw new AgentError(
      "not_verified",
      `${name} may not run here: ${reasonOf(standing)}. To verify it: reins agents verify ${id}`,
    );
  }

  #read(agent: string): Promise<Stamp | undefined> {
    return readJsonFile(this.#file(agent), Stamp);
  }

  #file(agent: string): string {
    return join(this.#folder, agent, "verify.json");
  }
}

const CHANGES = {
  version: "its version has changed",
  program: "what is installed has changed",
  settings_hash: "its settings have changed",
  confined: "it is confined now, or no longer",
} as const;

function reasonOf(standing: Standing): string {
  switch (standing.state) {
    case "unverified":
      return "it was never verified";
    case "outdated":
      return `since it was verified, ${standing.why}`;
    case "verified":
      return `its gate was found to be ${standing.stamp.level}`;
  }
}

async function identityOf({ entry, installed, confined = false }: RunningAs) {
  return {
    agent: entry.id,
    version: installed.version,
    program: await programState(entry, installed),
    settings_hash: settingsHash(entry),
    confined,
  };
}

/** How many files are looked at at once. */
const AT_ONCE = 64;

/**
 * Distinguishes states of an agent's program: by the lockfile it was installed from and the size and time of
 * every file of the install, or, for one that was there already, by those of the files it is started from.
 */
async function programState({ start }: AgentEntry, { folder }: InstalledAgent): Promise<string> {
  const provenance = await readProvenance(folder);
  if (provenance) return sha256([provenance.lock, ...(await treeOf(folder))]);
  const named = [typeof start?.file === "string" ? start.file : "", ...(start?.args ?? [])];
  const states = await Promise.all(named.filter((path) => isAbsolute(path)).map(stateOf));
  return sha256(states);
}

function sha256(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

/** The files of an install, in order. Its own note of where it came from does not count. */
async function treeOf(folder: string): Promise<readonly unknown[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const states: unknown[] = [];
  for (let start = 0; start < paths.length; start += AT_ONCE) {
    const some = await Promise.all(paths.slice(start, start + AT_ONCE).map(stateOf));
    states.push(...some.map(([path, ...state]) => [relative(folder, String(path)), ...state]));
  }
  return states;
}

async function stateOf(path: string): Promise<readonly unknown[]> {
  try {
    const { size, mtimeMs } = await lstat(path);
    return [path, size, mtimeMs];
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return [path];
    throw error;
  }
}
