import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AgentEntry } from "../agent-entry.ts";
import { AgentError } from "../agent-error.ts";
import type { Catalogue } from "../catalogue.ts";
import { ProbeCache } from "../probe.ts";
import type { RegistryAgent } from "../registry/registry-document.ts";
import { catalogueTarget, publishedVersion, registryTarget } from "../registry/registry-plan.ts";
import type { RegistrySource, RegistryState } from "../registry/registry-source.ts";
import { type ModelApi, modelApiOf } from "../undescribed-agent.ts";
import { archivePin } from "./archives.ts";
import { InstallLock } from "./install-lock.ts";
import {
  type AgentLockfile,
  CATALOGUE_LOCKS,
  isNewer,
  lockfileOf,
  type RequestedVersions,
} from "./install-plan.ts";
import {
  expectPlanned,
  type InstallationProgress,
  type InstallTarget,
  installInto,
  Pins,
  type PlannedInstall,
  plannedInstall,
} from "./installation.ts";
import { findUv } from "./python.ts";
import { type Provenance, readProvenance, VersionFolders } from "./version-folders.ts";

/** The progress of an install. */
export type InstallProgress =
  /** Another process is installing the same agent. */
  | { readonly phase: "waiting"; readonly holder: number }
  | InstallationProgress
  | { readonly phase: "installed"; readonly version: string };

/** Options of an install. */
export interface InstallOptions extends RequestedVersions {
  /** Install even if it is installed already. */
  readonly reinstall?: boolean | undefined;
  /** Install the version that is offered in place of the one that is installed. */
  readonly update?: boolean | undefined;
  /** The API that an agent of the registry asks its model by. */
  readonly modelApi?: ModelApi | undefined;
  /** The SHA-256 that the archive of an agent of the registry has to have, in hexadecimal. */
  readonly sha256?: string | undefined;
  /** What was decided about, or null where nothing had to be fetched. What would be another install by now is refused. */
  readonly planned?: PlannedInstall | null | undefined;
  readonly onProgress?: ((progress: InstallProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The files of an agent. */
export interface InstalledAgent {
  readonly version: string;
  readonly folder: string;
}

/** An agent that is installed. */
export interface Installed extends InstalledAgent {
  readonly agent: string;
  /** Where it came from; absent for a program that was there already. */
  readonly provenance: Provenance | undefined;
  /** Whether the catalogue has another version or other packages now. */
  readonly outdated: boolean;
  /** The version that an update would install; undefined when there is none. */
  readonly update?: string | undefined;
}

/** An agent that the registry offers and the catalogue does not describe. */
export type OfferedAgent = RegistryAgent;

export interface InstallerOptions {
  /** The folder that holds one folder for each agent. */
  readonly folder: string;
  readonly catalogue: Catalogue;
  /** Whose npm configuration, PATH and proxies are used. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder that holds a lockfile for each agent; the catalogue's own by default. */
  readonly locks?: string;
  /** Where versions, and agents that the catalogue does not describe, come from; without it, from the catalogue alone. */
  readonly registry?: RegistrySource | undefined;
  /** Whether nothing is fetched but what npm or uv have kept. */
  readonly offline?: boolean;
  /** Whether an archive of which no checksum is known is refused. */
  readonly requireChecksums?: boolean;
  readonly node?: string;
  /** As `process.platform`-`process.arch`. */
  readonly platform?: string;
  readonly now?: () => Date;
}

/**
 * Installs agents, each version into a folder of its own, which gets its name only when it is complete and has been
 * seen to run.
 */
export class Installer {
  readonly #options: Required<Omit<InstallerOptions, "registry">> & Pick<InstallerOptions, "registry">;

  constructor(options: InstallerOptions) {
    this.#options = {
      locks: CATALOGUE_LOCKS,
      node: process.execPath,
      platform: `${process.platform}-${process.arch}`,
      now: () => new Date(),
      offline: false,
      requireChecksums: false,
      ...options,
    };
  }

  /** The install of an agent that is in use; undefined when there is none. */
  async installed(agent: string): Promise<Installed | undefined> {
    const entry = this.#options.catalogue.entry(agent);
    if (!entry.install && !entry.fromRegistry) return localInstall(entry);
    const folders = this.#folders(agent);
    const name = await folders.current();
    if (name === undefined) return undefined;
    const provenance = await readProvenance(folders.of(name));
    if (!provenance) return undefined;
    const outdated = provenance.source === "lockfile" && provenance.lock !== this.#locked(agent)?.hash;
    return { agent, version: provenance.version, folder: folders.of(name), provenance, outdated };
  }

  /** Every version of an agent that is on the disk. */
  async versions(agent: string): Promise<readonly string[]> {
    this.#options.catalogue.entry(agent);
    return this.#folders(agent).all();
  }

  /** All agents of the catalogue, and what is installed of each. */
  async list(): Promise<
    readonly { readonly entry: AgentEntry; readonly installed: Installed | undefined }[]
  > {
    const { entries } = this.#options.catalogue;
    return Promise.all(entries.map(async (entry) => ({ entry, installed: await this.installed(entry.id) })));
  }

  /** What is known of the registry; undefined where none is configured. */
  async registry(options?: Parameters<RegistrySource["read"]>[0]): Promise<RegistryState | undefined> {
    return this.#options.registry?.read(options);
  }

  /** Agents of the registry that the catalogue does not describe and that are not installed. */
  offered({ agents }: RegistryState): readonly OfferedAgent[] {
    const { catalogue } = this.#options;
    const taken = new Set(catalogue.entries.map(({ registry }) => registry));
    return [...agents.values()].filter(({ id }) => !taken.has(id) && !catalogue.find(id));
  }

  /** The version that an update would install; undefined when there is none that is newer. Nothing is updated unasked. */
  updateOf(
    entry: AgentEntry,
    installed: Installed | undefined,
    registry?: RegistryState,
  ): string | undefined {
    if (!installed?.provenance) return undefined;
    const offered = entry.fromRegistry
      ? registry?.agents.get(entry.id)
      : registry && publishedVersion(entry, registry);
    const pinned = entry.install?.packages[entry.install.agentProcess];
    const version = offered && "version" in offered ? offered.version : pinned;
    const held = entry.fromRegistry ? installed.provenance.registry?.version : installed.version;
    return version !== undefined && held !== undefined && isNewer(version, held) ? version : undefined;
  }

  /**
   * What `install` would fetch; undefined if what is asked for is there. Refuses what it would refuse before that: an
   * unsupported agent, a version that is none.
   */
  async check(agent: string, options: InstallOptions): Promise<PlannedInstall | undefined> {
    const entry = this.#options.catalogue.find(agent);
    if ((entry && localInstall(entry)) || (await this.#kept(entry, options))) return undefined;
    const target = await this.#target(agent, options);
    if (await this.#isThere(target, options)) return undefined;
    return plannedInstall(target, options);
  }

  /**
   * Installs an agent, unless what is asked for is there. One process at a time does so for one agent. What is installed is
   * replaced by what a registry has now only if that is asked for.
   */
  async install(agent: string, options: InstallOptions = {}): Promise<Installed> {
    const entry = this.#options.catalogue.find(agent);
    const local = entry && localInstall(entry);
    if (local) return local;
    const kept = await this.#kept(entry, options);
    if (kept) return kept;
    const target = await this.#target(agent, options);
    const ready = await this.#ready(target, options);
    if (ready) return ready;
    expectPlanned(target, options);
    await using _lock = await this.#lock(agent, options);
    // The previous holder of the lock may have installed it.
    const earlier =
      (await this.#kept(this.#options.catalogue.find(agent), options)) ??
      (await this.#ready(target, options));
    return earlier ?? (await this.#installAlone(target, options));
  }

  /** Removes every version of an agent; returns whether there was one. */
  async remove(agent: string): Promise<boolean> {
    this.#options.catalogue.entry(agent);
    await using _lock = await this.#lock(agent);
    return await this.#folders(agent).remove();
  }

  /** What is installed and stays, where a registry could have something else by now. */
  async #kept(entry: AgentEntry | undefined, options: InstallOptions): Promise<Installed | undefined> {
    const { reinstall, update, agentVersion, agentProcessVersion } = options;
    const isWanted = reinstall || update || agentVersion !== undefined || agentProcessVersion !== undefined;
    if (!this.#options.registry || !entry || isWanted) return undefined;
    return expectContent(await this.installed(entry.id), options);
  }

  /** What would be installed, and by which checksum. Throws for an agent that cannot be. */
  async #target(agent: string, options: InstallOptions): Promise<InstallTarget> {
    const target = await this.#published(agent, options);
    const { plan } = target;
    const { name } = target.entry;
    if (plan.kind !== "archive") {
      if (options.sha256 === undefined) return target;
      throw new AgentError(
        "invalid_version",
        `${name} comes as packages, which are checked by their index; leave the SHA-256 out.`,
      );
    }
    const given = options.sha256?.toLowerCase();
    if (given !== undefined && given !== (plan.sha256 ?? given))
      throw new AgentError(
        "install_failed",
        `The registry has ${plan.sha256} as the SHA-256 of ${name} ${plan.version}, not ${given}.`,
      );
    const sha256 = given ?? plan.sha256;
    const pins = new Pins(this.#options.folder, agent);
    const isKnown =
      sha256 !== undefined || (await pins.find(archivePin(plan, this.#options.platform))) !== undefined;
    if (this.#options.requireChecksums && !isKnown)
      throw new AgentError(
        "unchecked",
        `The registry has no SHA-256 of ${plan.url}, and require_checksums in agents.yaml asks for one; give the one that ${name}'s makers publish.`,
      );
    return { ...target, plan: { ...plan, sha256 } };
  }

  async #published(agent: string, options: InstallOptions): Promise<InstallTarget> {
    const { catalogue, platform, environment } = this.#options;
    const registry = await this.registry();
    const entry = catalogue.find(agent);
    if (entry && !entry.fromRegistry) {
      const target = catalogueTarget(entry, this.#locked(agent), options, { platform, registry });
      return this.#newer(entry, target, options, await this.installed(agent));
    }
    const published = registry?.agents.get(agent);
    if (!published || registry?.url === undefined) {
      const refusal = registry?.refused.find(({ id }) => id === agent);
      if (refusal)
        throw new AgentError(
          "unsupported_agent",
          `The registry's entry of ${agent} is refused: ${refusal.reason}`,
        );
      if (entry) throw new AgentError("install_failed", `${entry.name} is not in the registry any more.`);
      throw catalogueMiss(catalogue, agent, registry);
    }
    const wanted = options.agentProcessVersion ?? options.agentVersion ?? published.version;
    if (wanted !== published.version)
      throw new AgentError(
        "invalid_version",
        `The registry has ${published.name} at ${published.version} only, not at ${wanted}.`,
      );
    const hasUv = findUv(environment) !== undefined;
    const modelApi = options.modelApi ?? modelApiOf(entry);
    const target = registryTarget(published, { url: registry.url, modelApi, hasUv });
    return this.#newer(target.entry, target, options, entry && (await this.installed(agent)));
  }

  /** Refuses an update to an older version: a registry may have been rolled back. */
  #newer(
    entry: AgentEntry,
    target: InstallTarget,
    { update }: InstallOptions,
    installed: Installed | undefined,
  ): InstallTarget {
    const { registry } = target.plan;
    const held = entry.fromRegistry ? installed?.provenance?.registry?.version : installed?.version;
    if (!update || held === undefined || !registry || !isNewer(held, registry.version)) return target;
    throw new AgentError(
      "invalid_version",
      `${entry.name} ${held} is installed, and the registry has ${registry.version}, which is older.`,
    );
  }

  async #isThere({ entry, plan }: InstallTarget, { reinstall }: InstallOptions): Promise<boolean> {
    return !reinstall && (await readProvenance(this.#folders(entry.id).of(plan.folder))) !== undefined;
  }

  async #ready({ entry, plan }: InstallTarget, options: InstallOptions): Promise<Installed | undefined> {
    if (options.reinstall) return undefined;
    const folders = this.#folders(entry.id);
    const folder = folders.of(plan.folder);
    const provenance = await readProvenance(folder);
    if (!provenance) return undefined;
    const { version } = provenance;
    const installed = { agent: entry.id, version, folder, provenance, outdated: false };
    expectContent(installed, options);
    await folders.use(plan.folder);
    return installed;
  }

  async #installAlone(target: InstallTarget, options: InstallOptions): Promise<Installed> {
    const { environment, node, platform, now, offline, folder: root } = this.#options;
    const { onProgress, signal } = options;
    const { id } = target.entry;
    const folders = this.#folders(id);
    const partial = await folders.begin();
    try {
      const pins = new Pins(root, id);
      const setting = { environment, node, platform, offline, pins, now, onProgress, signal };
      const { provenance, entry, probed } = await installInto(target, partial, setting);
      const folder = await folders.finish(partial, target.plan.folder);
      if (probed) await new ProbeCache(root).keep(entry, probed);
      const { version } = provenance;
      onProgress?.({ phase: "installed", version });
      return { agent: id, version, folder, provenance, outdated: false };
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
  }

  #locked(agent: string): AgentLockfile | undefined {
    return lockfileOf(agent, this.#options.locks);
  }

  #folders(agent: string): VersionFolders {
    return new VersionFolders(join(this.#options.folder, agent));
  }

  async #lock(agent: string, { signal, onProgress }: InstallOptions = {}): Promise<InstallLock> {
    return InstallLock.acquire(join(this.#options.folder, `${agent}.lock`), {
      signal,
      onWait: (holder) => onProgress?.({ phase: "waiting", holder }),
    });
  }
}

/** Refuses what is installed where its archive has to be another one. */
function expectContent(installed: Installed | undefined, { sha256 }: InstallOptions): Installed | undefined {
  const { artifact } = installed?.provenance ?? {};
  if (!installed || sha256 === undefined || artifact?.sha256 === sha256.toLowerCase()) return installed;
  const held = artifact ? `an archive with the SHA-256 ${artifact.sha256}` : "no archive";
  throw new AgentError(
    "install_failed",
    `${installed.agent} ${installed.version} is installed, from ${held}; remove it, or leave the SHA-256 out.`,
  );
}

function catalogueMiss(catalogue: Catalogue, agent: string, registry: RegistryState | undefined): AgentError {
  const known = catalogue.entries.map(({ id }) => id).join(", ");
  const fault = registry?.fault === undefined ? "" : ` The registry could not be read: ${registry.fault}`;
  return new AgentError("unknown_agent", `There is no agent "${agent}". Known are ${known}.${fault}`);
}

/** An agent that needs no install: a program that is there already. */
function localInstall({ id: agent, install, fromRegistry, start }: AgentEntry): Installed | undefined {
  const file = start?.file;
  if (install || fromRegistry || typeof file !== "string" || !existsSync(file)) return undefined;
  return { agent, version: "local", folder: dirname(file), provenance: undefined, outdated: false };
}
