import { createHash } from "node:crypto";
import { readFile, realpath, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { readJsonFile } from "@reins/kit";
import { z } from "zod";
import type { AgentEntry } from "../agent-entry.ts";
import { AgentError } from "../agent-error.ts";
import {
  type InstalledPackage,
  isExactVersion,
  type NpmPlan,
  packagesIn,
  uncheckedPackage,
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

/** Installs npm packages. */
export async function installPackages(
  plan: NpmPlan,
  folder: string,
  setting: InstallationSetting,
): Promise<Fetched> {
  const { pins, platform } = setting;
  const pin = plan.lockfile === undefined && isExact(plan) ? plan.manifest : undefined;
  const known = pin === undefined ? undefined : await pins.find(pin);
  const lockfile = plan.lockfile ?? known;
  await writeFile(join(folder, "package.json"), plan.manifest);
  if (lockfile !== undefined) await writeFile(join(folder, "package-lock.json"), lockfile);
  const commands = plan.npm.map(([verb, ...rest]) =>
    known !== undefined && verb === "install" ? ["ci", ...rest] : [verb ?? "", ...rest],
  );
  await runCommands(commands, plan.packages, folder, setting);
  const [manifest, locked] = await Promise.all(
    ["package.json", "package-lock.json"].map((name) => readFile(join(folder, name), "utf8")),
  );
  if (manifest === undefined || locked === undefined) throw new Error("a file was not read");
  const unchecked = plan.source === "registry" ? uncheckedPackage(locked) : undefined;
  if (unchecked !== undefined)
    throw new AgentError("install_failed", `${unchecked} has no checksum that npm could check it by.`);
  const packages = packagesIn(locked, platform);
  const agentProcess = namedPackage(packages, plan.agentProcess);
  const start = plan.args && (await startOf(plan.agentProcess, plan.args, folder));
  if (pin !== undefined && known === undefined) await pins.keep(pin, withoutPlaces(locked));
  return {
    ...{ packages, agentProcess },
    ...(plan.agent !== undefined && { native: namedPackage(packages, plan.agent) }),
    lock: createHash("sha256").update(manifest).update(locked).digest("hex"),
    ...(start && { start }),
  };
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

async function runCommands(
  commands: readonly (readonly string[])[],
  total: number,
  folder: string,
  { environment, node, signal, onProgress }: InstallationSetting,
): Promise<void> {
  const npm = findNpm(environment, node);
  if (!npm) throw new AgentError("install_failed", "npm is neither beside Node nor on PATH. Install npm.");
  const fetched = new Set<string>();
  const report = () => onProgress?.({ phase: "installing", done: Math.min(fetched.size, total), total });
  const onLine = (line: string) => {
    const [, tarball] = /^npm http \S+ .*?(\S+\.tgz)/.exec(line) ?? [];
    if (tarball === undefined) return;
    fetched.add(tarball);
    report();
  };
  report();
  for (const args of commands) await runNpm(npm, { folder, args, environment, signal, onLine });
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
