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

/** Where the version of an install came from. */
interface PlanOrigin {
  /** What named the version: the lockfile of the catalogue, a request, or the registry. */
  readonly source: "lockfile" | "override" | "registry";
  /** What the registry says of the agent; absent where it says nothing that is used. */
  readonly registry?: { readonly url: string; readonly id: string; readonly version: string } | undefined;
  /** The name of the folder it ends up in. */
  readonly folder: string;
}

/** What an install is going to do. */
export type InstallPlan = NpmPlan | ArchivePlan | PythonPlan;

/** The install of npm packages. */
export interface NpmPlan extends PlanOrigin {
  readonly kind: "npm";
  readonly agentProcess: string;
  /** The package of the agent itself, where that is another one. */
  readonly agent?: string | undefined;
  readonly manifest: string;
  /** Absent when npm is to find out. */
  readonly lockfile: string | undefined;
  /** How many packages there will be, as far as that is known. */
  readonly packages: number;
  /** The commands of npm, in order. */
  readonly npm: readonly (readonly string[])[];
  /** Whether the packages bring the command, as one of a registry does; else the entry names it. */
  readonly args?: readonly string[] | undefined;
}

/** The install of an archive with programs. */
export interface ArchivePlan extends PlanOrigin {
  readonly kind: "archive";
  readonly url: string;
  readonly cmd: string;
  readonly sha256: string | undefined;
  readonly version: string;
  readonly args: readonly string[];
}

/** The install of Python packages. */
export interface PythonPlan extends PlanOrigin {
  readonly kind: "python";
  /** With its extras. */
  readonly package: string;
  readonly version: string;
  readonly args: readonly string[];
}

/** Plans the install of an agent on a platform, which is `process.platform`-`process.arch`. */
export function planOf(
  entry: AgentEntry,
  locked: AgentLockfile | undefined,
  versions: RequestedVersions,
  platform: string,
): NpmPlan {
  const install = installOf(entry, platform);
  const named = { kind: "npm", agentProcess: install.agentProcess, agent: install.agent } as const;
  expectVersion(entry.name, versions.agentVersion);
  expectVersion(install.agentProcess, versions.agentProcessVersion);
  const overridden = versions.agentVersion !== undefined || versions.agentProcessVersion !== undefined;
  if (locked && !overridden) {
    return {
      ...named,
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
    ...named,
    source: "override",
    folder: `${versions.agentProcessVersion ?? install.packages[install.agentProcess]}-asked-${digest.slice(0, 12)}`,
    manifest,
    lockfile: undefined,
    packages: locked ? packagesIn(locked.lockfile, platform).length : Object.keys(install.packages).length,
    npm: [["ci", "--ignore-scripts"], ...rebuilds(install)],
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

const Specifications = z.record(z.string(), z.string()).optional();

const Locked = z.looseObject({
  version: z.string().optional(),
  integrity: z.string().optional(),
  resolved: z.string().optional(),
  link: z.boolean().optional(),
  dependencies: Specifications,
  optionalDependencies: Specifications,
  /** Whether another package, which is checked, brings it along. */
  inBundle: z.boolean().optional(),
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

/** What npm installed into a folder, with the checksums that it checked. */
export const INSTALLED_LOCK = "node_modules/.package-lock.json";

/** Why a lockfile is not one of packages of an index that npm could check; undefined when it is. */
export function packageFault(lockfile: string): string | undefined {
  const { packages } = Lockfile.parse(JSON.parse(lockfile));
  for (const [place, { integrity, resolved = "", link, inBundle, ...locked }] of Object.entries(packages)) {
    const named = Object.entries({ ...locked.dependencies, ...locked.optionalDependencies });
    const foreign = named.find(([, specification]) => !isOfIndex(specification));
    if (foreign)
      return `${place || "it"} depends on ${foreign.join(" at ")}, which is no package of the index`;
    if (place === "" || inBundle) continue;
    if (link || /^(?:git|file|link)/.test(resolved)) return `${place} is no package of the index`;
    if (integrity === undefined) return `${place} has no checksum that npm could check it by`;
  }
  return undefined;
}

/** Whether a dependency is named by version, range, tag or alias: addresses, paths and shorthands of git hosts are not. */
function isOfIndex(specification: string): boolean {
  return specification.startsWith("npm:") || !/[:/\\]/.test(specification);
}

/** The packages of a lockfile that it has no checksum of, and where they are. */
export function uncheckedIn(lockfile: string): readonly (InstalledPackage & { readonly place: string })[] {
  const { packages } = Lockfile.parse(JSON.parse(lockfile));
  return Object.entries(packages).flatMap(([place, { integrity, inBundle = false, version = "" }]) =>
    place === "" || inBundle || integrity !== undefined ? [] : [{ place, name: nameAt(place), version }],
  );
}

/** A lockfile with checksums by place. */
export function withChecksums(lockfile: string, checksums: ReadonlyMap<string, string>): string {
  const { packages, ...rest } = Lockfile.parse(JSON.parse(lockfile));
  const all = Object.entries(packages).map(([place, locked]) => {
    const integrity = locked.integrity ?? checksums.get(place);
    return [place, { ...locked, ...(integrity !== undefined && { integrity }) }];
  });
  return JSON.stringify({ ...rest, packages: Object.fromEntries(all) });
}

function nameAt(place: string): string {
  return place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** The packages of a lockfile that are for a platform, which is `os`-`cpu`. */
export function packagesIn(lockfile: string, platform: string): readonly InstalledPackage[] {
  const [os = "", cpu = ""] = platform.split("-");
  const { packages } = Lockfile.parse(JSON.parse(lockfile));
  return Object.entries(packages).flatMap(([place, locked]) => {
    if (place === "" || !fits(locked.os, os) || !fits(locked.cpu, cpu)) return [];
    const { version = "", integrity } = locked;
    return [{ name: nameAt(place), version, ...(integrity !== undefined && { integrity }) }];
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

/** Whether a text is an exact version. */
export function isExactVersion(text: string): boolean {
  return text.length <= LONGEST_VERSION && EXACT.test(text);
}

/** Whether an exact version comes after another one. */
export function isNewer(version: string, than: string): boolean {
  const [ours, theirs] = [partsOf(version), partsOf(than)];
  for (const place of [0, 1, 2]) {
    const difference = (ours.numbers[place] ?? 0) - (theirs.numbers[place] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  // What comes before a release is older than it.
  if (ours.early === "" || theirs.early === "") return ours.early === "" && theirs.early !== "";
  return ours.early.localeCompare(theirs.early, "en", { numeric: true }) > 0;
}

function partsOf(version: string): { readonly numbers: readonly number[]; readonly early: string } {
  const [plain = ""] = version.split("+");
  const dash = plain.indexOf("-");
  return dash < 0
    ? { numbers: numbers(plain), early: "" }
    : { numbers: numbers(plain.slice(0, dash)), early: plain.slice(dash + 1) };
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
