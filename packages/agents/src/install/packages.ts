import { createHash } from "node:crypto";
import { readFile, realpath, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { ifExists, readJsonFile } from "@reins/kit";
import { z } from "zod";
import type { AgentEntry } from "../agent-entry.ts";
import { AgentError } from "../agent-error.ts";
import {
  INSTALLED_LOCK,
  type InstalledPackage,
  isExactVersion,
  type NpmPlan,
  packageFault,
  packagesIn,
  uncheckedIn,
  withChecksums,
} from "./install-plan.ts";
import type { InstallationSetting } from "./installation.ts";
import { findNpm, runNpm } from "./npm.ts";
import type { Provenance } from "./version-folders.ts";

/** What an installation put into its folder. */
export interface Fetched {
  readonly packages: readonly InstalledPackage[];
  readonly agentProcess: InstalledPackage;
  readonly native?: InstalledPackage | undefined;
  /** The SHA-256 of what its content was checked by. */
  readonly lock: string;
  readonly artifact?: NonNullable<Provenance["artifact"]>;
  /** What is started, where the entry does not say it. */
  readonly start?: AgentEntry["start"];
}

const LOCK = "package-lock.json";

/** Installs npm packages. */
export async function installPackages(
  plan: NpmPlan,
  folder: string,
  setting: InstallationSetting,
): Promise<Fetched> {
  const { pins, platform } = setting;
  const npm = npmIn(folder, plan.packages, setting);
  const pin = pinOf(plan, platform);
  const known = pin === undefined ? undefined : await pins.find(pin);
  const lockfile = known ?? plan.lockfile;
  await writeFile(join(folder, "package.json"), plan.manifest);
  if (lockfile !== undefined) await writeFile(join(folder, LOCK), lockfile);
  else await lockPackages(folder, npm);
  const [unpack = [], ...rest] = plan.npm;
  await npm(unpack);
  const isCompleted = await completeLock(folder, npm);
  if (isCompleted) await npm(unpack);
  expectOfIndex(await installedLock(folder));
  for (const command of rest) await npm(command);
  const [manifest, locked] = await Promise.all(
    ["package.json", LOCK].map((name) => readFile(join(folder, name), "utf8")),
  );
  if (manifest === undefined || locked === undefined) throw new Error("a file was not read");
  const packages = packagesIn(locked, platform);
  const agentProcess = namedPackage(packages, plan.agentProcess);
  const start = plan.args && (await startOf(plan.agentProcess, plan.args, folder));
  if (known === undefined && pin !== undefined && (isCompleted || plan.lockfile === undefined))
    await pins.keep(pin, withoutPlaces(locked));
  return {
    ...{ packages, agentProcess },
    ...(plan.agent !== undefined && { native: namedPackage(packages, plan.agent) }),
    lock: createHash("sha256")
      .update(manifest)
      .update(plan.lockfile ?? locked)
      .digest("hex"),
    ...(start && { start }),
  };
}

/**
 * Has npm find out which packages there will be, and refuses those that are of no index before any is unpacked: a package
 * of a git host or of a folder runs its scripts when an npm before 11 only makes it ready.
 */
async function lockPackages(folder: string, npm: RunNpm): Promise<void> {
  await npm(["install", "--ignore-scripts", "--package-lock-only"]);
  expectOfIndex(await readFile(join(folder, LOCK), "utf8"));
}

async function installedLock(folder: string): Promise<string> {
  const lockfile = await ifExists(readFile(join(folder, INSTALLED_LOCK), "utf8"));
  if (lockfile !== undefined) return lockfile;
  throw new AgentError("install_failed", "npm left no list of what it installed.");
}

function expectOfIndex(lockfile: string): void {
  const fault = packageFault(lockfile);
  if (fault !== undefined) throw new AgentError("install_failed", `It is refused: ${fault}.`);
}

/**
 * Adds to a lockfile the checksums that the index has of packages that were installed and that it has none of, as it may
 * for another platform than it was made on. Returns whether there were any, so that they have to be installed again.
 */
async function completeLock(folder: string, npm: RunNpm): Promise<boolean> {
  const unchecked = uncheckedIn(await installedLock(folder));
  if (unchecked.length === 0) return false;
  const checksums = new Map<string, string>();
  for (const { place, name, version } of unchecked)
    await npm(["view", `${name}@${version}`, "dist.integrity", "--json"], (line) => {
      const [, checksum] = /^"(sha\d+-[\w+/=]+)"$/.exec(line) ?? [];
      if (checksum !== undefined) checksums.set(place, checksum);
    });
  const path = join(folder, LOCK);
  await writeFile(path, withChecksums(await readFile(path, "utf8"), checksums));
  return true;
}

/** Names the lockfile that is kept of an install, to check the next one by. Undefined where that may come out differently. */
function pinOf(plan: NpmPlan, platform: string): string | undefined {
  if (plan.lockfile !== undefined) return `${plan.lockfile} ${platform}`;
  return isExact(plan) ? plan.manifest : undefined;
}

const Manifest = z.looseObject({ dependencies: z.record(z.string(), z.string()) });

/** Whether a plan will come out the same again: each of its packages is at one exact version. */
function isExact({ manifest }: NpmPlan): boolean {
  return Object.values(Manifest.parse(JSON.parse(manifest)).dependencies).every(isExactVersion);
}

const Lockfile = z.looseObject({ packages: z.record(z.string(), z.looseObject({})) });

/** A lockfile without the addresses that packages came from: the operator may use another mirror the next time. */
function withoutPlaces(lockfile: string): string {
  const { packages, ...rest } = Lockfile.parse(JSON.parse(lockfile));
  const kept = Object.entries(packages).map(([place, { resolved: _, ...locked }]) => [place, locked]);
  return JSON.stringify({ ...rest, packages: Object.fromEntries(kept) });
}

/** Runs one command of npm after the other in a folder. */
type RunNpm = (command: readonly string[], onOutput?: (line: string) => void) => Promise<void>;

/** Runs npm and reports how many of so many packages were fetched. */
function npmIn(
  folder: string,
  total: number,
  { environment, node, signal, onProgress }: InstallationSetting,
): RunNpm {
  const npm = findNpm(environment, node);
  if (!npm) throw new AgentError("install_failed", "npm is neither beside Node nor on PATH. Install npm.");
  const fetched = new Set<string>();
  const report = () => onProgress?.({ phase: "installing", done: Math.min(fetched.size, total), total });
  report();
  return (args, onOutput) => {
    const onLine = (line: string) => {
      onOutput?.(line);
      const [, tarball] = /^npm http \S+ .*?(\S+\.tgz)/.exec(line) ?? [];
      if (tarball === undefined) return;
      fetched.add(tarball);
      report();
    };
    return runNpm(npm, { folder, args, environment, signal, onLine });
  };
}

function namedPackage(packages: readonly InstalledPackage[], name: string): InstalledPackage {
  const found = packages.find((each) => each.name === name);
  if (!found) throw new AgentError("install_failed", `${name} is not among what npm installed.`);
  return found;
}

const Bins = z.looseObject({ bin: z.union([z.string(), z.record(z.string(), z.string())]).optional() });

/** The command that `npx` would run for a package. */
async function startOf(
  name: string,
  args: readonly string[],
  folder: string,
): Promise<NonNullable<AgentEntry["start"]>> {
  const place = join(folder, "node_modules", name);
  const { bin = {} } = (await readJsonFile(join(place, "package.json"), Bins)) ?? {};
  const unscoped = name.slice(name.indexOf("/") + 1);
  const named = typeof bin === "string" ? { [unscoped]: bin } : bin;
  const all = Object.values(named);
  const file = Object.hasOwn(named, unscoped) ? named[unscoped] : all.length === 1 ? all[0] : undefined;
  if (file === undefined)
    throw new AgentError("install_failed", `The package ${name} does not say which program to run.`);
  const program = await programIn(folder, join(place, file));
  const [first = ""] = (await readFile(join(folder, program), "latin1")).split("\n", 1);
  const isScript = /\.[cm]?js$/.test(program) || /^#!.*\bnode\b/.test(first);
  return { with: isScript ? "node" : "file", file: program, args: [...args], imports: [] };
}

/** The path of a program below its install. Throws for one that is not there, or elsewhere. */
export async function programIn(folder: string, path: string): Promise<string> {
  const [root, real] = await Promise.all([realpath(folder), realpath(path).catch(() => undefined)]);
  if (real?.startsWith(`${root}${sep}`)) return relative(root, real);
  throw new AgentError("install_failed", `${relative(folder, path)} is not in what was installed.`);
}
