import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AgentEntry } from "../agent-entry.ts";
import type { Catalogue } from "../catalogue.ts";
import { InstallLock } from "./install-lock.ts";
import {
  type AgentLockfile,
  CATALOGUE_LOCKS,
  type InstallPlan,
  lockfileOf,
  planOf,
  type RequestedVersions,
} from "./install-plan.ts";
import { type InstallationProgress, installInto } from "./installation.ts";
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
}

export interface InstallerOptions {
  /** The folder that holds one folder for each agent. */
  readonly folder: string;
  readonly catalogue: Catalogue;
  /** Whose npm configuration, PATH and proxies are used. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder that holds a lockfile for each agent; the catalogue's own by default. */
  readonly locks?: string;
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
  readonly #options: Required<InstallerOptions>;

  constructor(options: InstallerOptions) {
    this.#options = {
      locks: CATALOGUE_LOCKS,
      node: process.execPath,
      platform: `${process.platform}-${process.arch}`,
      now: () => new Date(),
      ...options,
    };
  }

  /** The install of an agent that is in use; undefined when there is none. */
  async installed(agent: string): Promise<Installed | undefined> {
    const entry = this.#options.catalogue.entry(agent);
    if (!entry.install) return localInstall(entry);
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

  /** Refuses what `install` would refuse before it fetches anything: an unsupported agent, a version that is none. */
  check(agent: string, versions: RequestedVersions): void {
    const entry = this.#options.catalogue.entry(agent);
    if (!localInstall(entry)) planOf(entry, this.#locked(agent), versions, this.#options.platform);
  }

  /** Installs an agent, unless what is asked for is there. One process at a time does so for one agent. */
  async install(agent: string, options: InstallOptions = {}): Promise<Installed> {
    const { catalogue, platform } = this.#options;
    const entry = catalogue.entry(agent);
    const local = localInstall(entry);
    if (local) return local;
    const plan = planOf(entry, this.#locked(agent), options, platform);
    const ready = await this.#ready(agent, plan, options);
    if (ready) return ready;
    await using _lock = await this.#lock(agent, options);
    // The previous holder of the lock may have installed the same.
    return (await this.#ready(agent, plan, options)) ?? (await this.#installAlone(entry, plan, options));
  }

  /** Removes every version of an agent; returns whether there was one. */
  async remove(agent: string): Promise<boolean> {
    this.#options.catalogue.entry(agent);
    await using _lock = await this.#lock(agent);
    return await this.#folders(agent).remove();
  }

  async #ready(
    agent: string,
    plan: InstallPlan,
    { reinstall }: InstallOptions,
  ): Promise<Installed | undefined> {
    if (reinstall) return undefined;
    const folders = this.#folders(agent);
    const folder = folders.of(plan.folder);
    const provenance = await readProvenance(folder);
    if (!provenance) return undefined;
    await folders.use(plan.folder);
    return { agent, version: provenance.version, folder, provenance, outdated: false };
  }

  async #installAlone(entry: AgentEntry, plan: InstallPlan, options: InstallOptions): Promise<Installed> {
    const { environment, node, platform, now } = this.#options;
    const { onProgress, signal } = options;
    const folders = this.#folders(entry.id);
    const partial = await folders.begin();
    try {
      const setting = { environment, node, platform, now, onProgress, signal };
      const provenance = await installInto(entry, plan, partial, setting);
      const folder = await folders.finish(partial, plan.folder);
      const { version } = provenance;
      onProgress?.({ phase: "installed", version });
      return { agent: entry.id, version, folder, provenance, outdated: false };
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

/** An agent that needs no install: a program that is there already. */
function localInstall({ id: agent, install, start }: AgentEntry): Installed | undefined {
  const file = start?.file;
  if (install || typeof file !== "string" || !existsSync(file)) return undefined;
  return { agent, version: "local", folder: dirname(file), provenance: undefined, outdated: false };
}
