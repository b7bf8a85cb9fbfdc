import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "@reins/kit";
import { z } from "zod";
import type { AgentEntry } from "../agent-entry.ts";
import { AgentError } from "../agent-error.ts";
import type { InstalledAgent } from "../install/installer.ts";
import { settingsHash } from "../settings-hash.ts";
import { PROBES } from "./gate-probe.ts";
import { HOLDINGS } from "./holding.ts";
import { VERIFIED_LEVELS } from "./level.ts";
import { ProbeResult } from "./probe-result.ts";
import { programState } from "./program-state.ts";
import type { VerifyReport } from "./verify-agent.ts";

/** What was verified of an agent, and what of: it counts for nothing else. */
const Stamp = z.object({
  agent: z.string(),
  version: z.string(),
  /** What exactly is installed. */
  program: z.string(),
  /** How it is started, which files it finds, what its sessions are told. */
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

/** How an agent stands: never verified, verified as it is now, or verified as something else. */
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

  /** Keeps what a verification found. */
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

  /** Whether what was verified is what will run. */
  async standing(agent: RunningAs): Promise<Standing> {
    const stamp = await this.#read(agent.entry.id);
    if (!stamp) return { state: "unverified" };
    const now = await identityOf(agent);
    const why = (["version", "program", "settings_hash", "confined"] as const).find(
      (member) => stamp[member] !== now[member],
    );
    return why === undefined ? { state: "verified", stamp } : { state: "outdated", stamp, why: CHANGES[why] };
  }

  /** Lets an agent run only if its gate was seen to be live as it is now. */
  async require(agent: RunningAs): Promise<void> {
    const standing = await this.standing(agent);
    if (standing.state === "verified" && standing.stamp.live) return;
    const { id, name } = agent.entry;
    throw new AgentError(
      "not_verified",
      `${name} may not run here: ${reasonOf(standing)}. To verify it: reins agents verify ${id}`,
    );
  }

  async #read(agent: string): Promise<Stamp | undefined> {
    try {
      return Stamp.safeParse(JSON.parse(await readFile(this.#file(agent), "utf8"))).data;
    } catch (error) {
      if (error instanceof SyntaxError) return undefined;
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
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
