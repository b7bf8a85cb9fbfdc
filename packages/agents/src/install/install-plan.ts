import { createHash } from "node:crypto";
import type { AgentEntry } from "../agent-entry.ts";
import { AgentError } from "../agent-error.ts";
import { type AgentLockfile, packagesIn } from "./agent-lockfile.ts";
import { expectVersion } from "./package-spec.ts";

/** RequestedVersions other than those of the catalogue. */
export interface RequestedVersions {
  /** Of the agent itself. */
  readonly agentVersion?: string | undefined;
  /** Of the package that speaks ACP. */
  readonly agentProcessVersion?: string | undefined;
}

/** What an install is going to do. */
export interface InstallPlan {
  readonly source: "lockfile" | "override";
  /** The name of the folder it ends up in. */
  readonly folder: string;
  readonly manifest: string;
  /** Absent when npm is to find out. */
  readonly lockfile: string | undefined;
  /** How many packages there will be, as far as that is known. */
  readonly packages: number;
  /** The commands of npm, in order. */
  readonly npm: readonly (readonly string[])[];
}

/** Plans the install of an agent on a platform, which is `process.platform`-`process.arch`. */
export function planOf(
  entry: AgentEntry,
  locked: AgentLockfile | undefined,
  versions: RequestedVersions,
  platform: string,
): InstallPlan {
  const install = installOf(entry, platform);
  expectVersion(entry.name, versions.agentVersion);
  expectVersion(install.agentProcess, versions.agentProcessVersion);
  const overridden = versions.agentVersion !== undefined || versions.agentProcessVersion !== undefined;
  if (locked && !overridden) {
    return {
      source: "lockfile",
      folder: `${install.packages[install.agentProcess]}-${locked.hash.slice(0, 12)}`,
      manifest: locked.manifest,
      lockfile: locked.lockfile,
      packages: packagesIn(locked.lockfile, platform).length,
      npm: [["ci", "--ignore-scripts"], ...rebuilds(install)],
    };
  }
  const manifest = manifestOf(entry.id, install, versions);
  const digest = createHash("sha256").update(manifest).digest("hex");
  return {
    source: "override",
    folder: `${versions.agentProcessVersion ?? install.packages[install.agentProcess]}-asked-${digest.slice(0, 12)}`,
    manifest,
    lockfile: undefined,
    packages: locked ? packagesIn(locked.lockfile, platform).length : Object.keys(install.packages).length,
    npm: [["install", "--ignore-scripts"], ...rebuilds(install)],
  };
}

type Install = NonNullable<AgentEntry["install"]>;

function installOf({ name, install, support, start }: AgentEntry, platform: string): Install {
  if (!install) {
    const place = start?.file === undefined ? undefined : `Put it where its entry says: ${start.file}.`;
    const why = support.reason ?? place ?? "It is a part of Reins; there is nothing to install.";
    throw new AgentError("unsupported_agent", `${name} cannot be installed. ${why}`);
  }
  if (install.platforms.includes(platform)) return install;
  const made = install.platforms.join(", ");
  throw new AgentError("unsupported_agent", `${name} is not made for ${platform}, only for ${made}.`);
}

function manifestOf(agent: string, { packages, ...install }: Install, versions: RequestedVersions): string {
  const { agentProcessVersion, agentVersion } = versions;
  const dependencies = { ...packages };
  if (agentProcessVersion !== undefined) dependencies[install.agentProcess] = agentProcessVersion;
  const native = install.agent ?? install.agentProcess;
  const direct = native in dependencies;
  if (agentVersion !== undefined && direct) dependencies[native] = agentVersion;
  const overrides = agentVersion !== undefined && !direct ? { overrides: { [native]: agentVersion } } : {};
  const manifest = { name: `reins-agent-${agent}`, private: true, dependencies, ...overrides };
  return `${JSON.stringify(manifest, undefined, 2)}\n`;
}

function rebuilds({ scripts }: Install): readonly (readonly string[])[] {
  return scripts.length === 0 ? [] : [["rebuild", ...scripts, "--ignore-scripts=false"]];
}
