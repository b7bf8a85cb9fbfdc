import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hasCode } from "@reins/kit";
import { z } from "zod";
import type { AgentEntry } from "../agent-entry.ts";
import { AgentError } from "../agent-error.ts";

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

/** Where the lockfiles of the catalogue are. */
export const CATALOGUE_LOCKS = fileURLToPath(new URL("../../catalogue/locks", import.meta.url));

const Locked = z.looseObject({
  version: z.string().optional(),
  integrity: z.string().optional(),
  os: z.array(z.string()).optional(),
  cpu: z.array(z.string()).optional(),
  libc: z.array(z.string()).optional(),
});

const Lockfile = z.looseObject({ packages: z.record(z.string(), Locked) });

/** A package as an install has it. */
export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  /** What npm checked its content against; absent where the lockfile holds none. */
  readonly integrity?: string;
}

/** A lockfile of npm, with the package.json that it fits. */
export interface AgentLockfile {
  readonly manifest: string;
  readonly lockfile: string;
  /** The SHA-256 of both. */
  readonly hash: string;
}

/** The lockfile that a folder holds for an agent; undefined when it holds none. */
export function lockfileOf(agent: string, folder: string): AgentLockfile | undefined {
  try {
    const manifest = readFileSync(join(folder, agent, "package.json"), "utf8");
    const lockfile = readFileSync(join(folder, agent, "package-lock.json"), "utf8");
    return { manifest, lockfile, hash: createHash("sha256").update(manifest).update(lockfile).digest("hex") };
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** The packages of a lockfile that are for a platform, which is `os`-`cpu`. */
export function packagesIn(lockfile: string, platform: string): readonly InstalledPackage[] {
  const [os = "", cpu = ""] = platform.split("-");
  const { packages } = Lockfile.parse(JSON.parse(lockfile));
  return Object.entries(packages).flatMap(([place, locked]) => {
    if (place === "" || !fits(locked.os, os) || !fits(locked.cpu, cpu)) return [];
    const name = place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
    const { version = "", integrity } = locked;
    return [{ name, version, ...(integrity !== undefined && { integrity }) }];
  });
}

function fits(wanted: readonly string[] | undefined, ours: string): boolean {
  if (!wanted || wanted.length === 0) return true;
  if (wanted.includes(`!${ours}`)) return false;
  return wanted.includes(ours) || wanted.every((each) => each.startsWith("!"));
}

/** A leading dash is allowed by npm and refused here: on a command line it reads as an option. */
const NAME = /^(?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/;
const EXACT = /^\d+\.\d+\.\d+(?:-[\dA-Za-z.-]+)?(?:\+[\dA-Za-z.-]+)?$/;
const TAG = /^[A-Za-z][\w.~-]*$/;
/** What npm reads as a range although it looks like a tag: `v1`, `x`, `v2.x`. */
const RANGE = /^v?(?:\d|[xX](?:\.|$))/;
const LONGEST_NAME = 214;
const LONGEST_VERSION = 128;

/** Whether npm would take a text for the name of a package. Paths, URLs and options are none. */
export function isPackageName(text: string): boolean {
  return text.length <= LONGEST_NAME && NAME.test(text);
}

/** Whether a text is an exact version or a dist-tag. Ranges, aliases, paths and URLs are neither. */
export function isVersionOrTag(text: string): boolean {
  if (text.length > LONGEST_VERSION) return false;
  return EXACT.test(text) || (TAG.test(text) && !RANGE.test(text));
}

/** Refuses a version before anything is fetched; `what` names whose it is. */
export function expectVersion(what: string, version: string | undefined): void {
  if (version === undefined || isVersionOrTag(version)) return;
  throw new AgentError(
    "invalid_version",
    `${JSON.stringify(version)} is neither a version of ${what}, such as 1.2.3, nor a tag, such as latest.`,
  );
}

/** Whether a version of Node is at least what a range such as `>=22.12` asks for. */
export function fitsNode(range: string, version: string): boolean {
  const [, least] = /^>=\s*v?([\d.]+)$/.exec(range) ?? [];
  if (least === undefined) throw new Error(`"${range}" is no range of versions such as >=22.`);
  const [wanted, ours] = [numbers(least), numbers(version)];
  for (const [place, number] of wanted.entries()) {
    const difference = (ours[place] ?? 0) - number;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

function numbers(version: string): number[] {
  return version.replace(/^v/, "").split(".").map(Number);
}
