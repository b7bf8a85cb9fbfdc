import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual, promisify } from "node:util";
import { errorMessage, ifExists, replaceFile } from "@reins/kit";
import { z } from "zod";
import type { AgentEntry } from "../agent-entry.ts";
import { AgentError } from "../agent-error.ts";
import { launchCommand } from "../agent-launch.ts";
import { type Probed, probeAgent } from "../probe.ts";
import { installArchive } from "./archives.ts";
import { fitsNode, type InstallPlan } from "./install-plan.ts";
import type { InstalledAgent, InstallOptions } from "./installer.ts";
import { type Fetched, installPackages } from "./packages.ts";
import { installPython } from "./python.ts";
import { type Provenance, writeProvenance } from "./version-folders.ts";

/** The progress of an installation. */
export type InstallationProgress =
  | { readonly phase: "installing"; readonly done: number; readonly total: number }
  | { readonly phase: "verifying" };

/** The environment of an installation. */
export interface InstallationSetting {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly node: string;
  readonly platform: string;
  readonly pins: Pins;
  readonly offline: boolean;
  readonly now: () => Date;
  readonly onProgress?: ((progress: InstallationProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An agent, and how it is installed. */
export interface InstallTarget {
  readonly entry: AgentEntry;
  readonly plan: InstallPlan;
}

/** What an install is about to fetch. */
export interface PlannedInstall {
  readonly agent: string;
  readonly source: InstallPlan["source"];
  /** Names all that it comes of: versions, addresses, the command. */
  readonly plan: string;
  readonly version?: string;
  /** That of the agent itself, where another one was asked for. */
  readonly agentVersion?: string;
  /** The archive, where it is no package. */
  readonly url?: string;
  /** What the archive has to be, where that is known beforehand. */
  readonly sha256?: string;
}

/** Says what an install by a plan fetches. */
export function plannedInstall({ entry, plan }: InstallTarget, options: InstallOptions): PlannedInstall {
  const { source, registry, folder } = plan;
  const { url, sha256 } = plan.kind === "archive" ? plan : {};
  const pinned = entry.install?.packages[entry.install.agentProcess];
  const version = options.agentProcessVersion ?? registry?.version ?? pinned;
  const { agentVersion } = options;
  return {
    ...{ agent: entry.id, source, plan: folder },
    ...(version !== undefined && { version }),
    ...(agentVersion !== undefined && { agentVersion }),
    ...(url !== undefined && { url }),
    ...(sha256 !== undefined && { sha256 }),
  };
}

/** Refuses what was not decided about: while a person decides, a registry may come to name something else. */
export function expectPlanned(target: InstallTarget, options: InstallOptions): void {
  const { planned } = options;
  if (planned === undefined || isDeepStrictEqual(planned, plannedInstall(target, options))) return;
  const { name } = target.entry;
  throw new AgentError(
    "install_failed",
    `What would be installed of ${name} is no longer what was decided about; install it again.`,
  );
}

/** What an installation came to. */
export interface Installation {
  readonly provenance: Provenance;
  /** The entry to start it by. */
  readonly entry: AgentEntry;
  /** What it answered when it was first started; an agent of the catalogue is asked for its version only. */
  readonly probed?: Probed | undefined;
}

/** Executes a plan in an empty folder: installs, checks that the result runs, and writes its provenance. */
export async function installInto(
  { entry: described, plan }: InstallTarget,
  folder: string,
  setting: InstallationSetting,
): Promise<Installation> {
  expectNode(described);
  const fetched = await fetchPlan(plan, folder, setting);
  setting.onProgress?.({ phase: "verifying" });
  const entry = fetched.start ? { ...described, start: fetched.start } : described;
  const { version } = fetched.agentProcess;
  const probed = entry.fromRegistry ? await greet(entry, { version, folder }, setting) : undefined;
  const verified = probed ? saidBy(probed) : await askVersion(entry, folder, setting);
  const { source, registry } = plan;
  const provenance: Provenance = {
    agent: entry.id,
    version,
    agentProcess: fetched.agentProcess,
    ...(fetched.native && { native: fetched.native }),
    source,
    ...(registry && { registry }),
    ...(fetched.artifact && { artifact: fetched.artifact }),
    ...(entry.fromRegistry && { entry }),
    lock: fetched.lock,
    packages: [...fetched.packages],
    platform: setting.platform,
    node: process.versions.node,
    verified,
    installedAt: setting.now().toISOString(),
  };
  await writeProvenance(folder, provenance);
  return { provenance, entry, probed };
}

function fetchPlan(plan: InstallPlan, folder: string, setting: InstallationSetting): Promise<Fetched> {
  switch (plan.kind) {
    case "npm":
      return installPackages(plan, folder, setting);
    case "archive":
      return installArchive(plan, folder, setting);
    case "python":
      return installPython(plan, folder, setting);
  }
}

/** Starts an agent that nothing is known of, to see that it speaks ACP. */
async function greet(
  entry: AgentEntry,
  installed: InstalledAgent,
  { environment, now, signal: stop }: InstallationSetting,
): Promise<Probed> {
  const signal = AbortSignal.any([AbortSignal.timeout(LIMIT_MS), ...(stop ? [stop] : [])]);
  // It gets no credentials, so that there is nothing to remove from what it says.
  const redactor = { text: (text: string) => text };
  try {
    return await probeAgent({ entry, installed, environment, redactor, now, signal });
  } catch (cause) {
    if (stop?.aborted) throw new AgentError("cancelled", "The install was cancelled.", { cause });
    const reason = errorMessage(cause);
    throw new AgentError("install_failed", `${entry.name} was installed but does not run: ${reason}`, {
      cause,
    });
  }
}

const Said = z.object({ agentInfo: z.object({ name: z.string(), version: z.string() }) });

function saidBy({ initialized }: Probed): string {
  const { data } = Said.safeParse(initialized);
  return data ? `${data.agentInfo.name} ${data.agentInfo.version}`.slice(0, 200) : "answered initialize";
}

function expectNode({ name, install, start }: AgentEntry): void {
  const ours = process.versions.node;
  if (start?.with !== "node" || install?.node === undefined || fitsNode(install.node, ours)) return;
  throw new AgentError("unsupported_agent", `${name} needs Node ${install.node}; this is ${ours}.`);
}

const run = promisify(execFile);
const LIMIT_MS = 60_000;

/** Runs a new install to get its version, in a temporary home. */
async function askVersion(
  entry: AgentEntry,
  install: string,
  { node, platform, environment: { PATH }, signal }: InstallationSetting,
): Promise<string> {
  const { command, args } = launchCommand(
    { ...entry, start: entry.start && { ...entry.start, args: [] } },
    { install, node, platform },
  );
  const home = await mkdtemp(join(tmpdir(), "reins-verify-"));
  try {
    const { stdout, stderr } = await run(command, [...args, ...entry.verify], {
      cwd: home,
      env: { ...(PATH !== undefined && { PATH }), HOME: home, TMPDIR: home },
      timeout: LIMIT_MS,
      ...(signal && { signal }),
    });
    const [said = ""] = `${stdout}\n${stderr}`.trim().split("\n");
    return said;
  } catch (cause) {
    if (signal?.aborted) throw new AgentError("cancelled", "The install was cancelled.", { cause });
    const reason = errorMessage(cause);
    throw new AgentError("install_failed", `${entry.name} was installed but does not run: ${reason}`, {
      cause,
    });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/**
 * What the content of an agent's versions was found to be when each was first installed. Outlives the installs, so that a
 * version whose content has changed since is refused.
 */
export class Pins {
  readonly #folder: string;

  /** @param folder the one that holds a folder for each agent */
  constructor(folder: string, agent: string) {
    this.#folder = join(folder, `${agent}.pins`);
  }

  /** What was found for a version; undefined when it was never installed. */
  find(version: string): Promise<string | undefined> {
    return ifExists(readFile(this.#file(version), "utf8"));
  }

  keep(version: string, content: string): Promise<void> {
    return replaceFile(this.#file(version), content);
  }

  #file(version: string): string {
    return join(this.#folder, createHash("sha256").update(version).digest("hex").slice(0, 32));
  }
}
