import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { errorMessage } from "@reins/kit";
import type { AgentEntry } from "../agent-entry.ts";
import { AgentError } from "../agent-error.ts";
import { launchCommand } from "../agent-launch.ts";
import { fitsNode, type InstalledPackage, type InstallPlan, packagesIn } from "./install-plan.ts";
import { findNpm, runNpm } from "./npm.ts";
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
  readonly now: () => Date;
  readonly onProgress?: ((progress: InstallationProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Executes a plan in an empty folder: installs packages, checks that they run, and writes their provenance. */
export async function installInto(
  entry: AgentEntry,
  plan: InstallPlan,
  folder: string,
  setting: InstallationSetting,
): Promise<Provenance> {
  expectNode(entry);
  await writeFile(join(folder, "package.json"), plan.manifest);
  if (plan.lockfile !== undefined) await writeFile(join(folder, "package-lock.json"), plan.lockfile);
  await installPackages(plan, folder, setting);
  setting.onProgress?.({ phase: "verifying" });
  const { node, platform, signal } = setting;
  const path = setting.environment.PATH;
  const verified = await verifyInstall(entry, { install: folder, node, platform, path, signal });
  const provenance = await provenanceOf(entry, plan, folder, { ...setting, verified });
  await writeProvenance(folder, provenance);
  return provenance;
}

function expectNode({ name, install, start }: AgentEntry): void {
  const ours = process.versions.node;
  if (start?.with !== "node" || install?.node === undefined || fitsNode(install.node, ours)) return;
  throw new AgentError("unsupported_agent", `${name} needs Node ${install.node}; this is ${ours}.`);
}

async function installPackages(
  plan: InstallPlan,
  folder: string,
  setting: InstallationSetting,
): Promise<void> {
  const { environment, node, signal, onProgress } = setting;
  const npm = findNpm(environment, node);
  if (!npm) throw new AgentError("install_failed", "npm is neither beside Node nor on PATH. Install npm.");
  const fetched = new Set<string>();
  const report = () => {
    const done = Math.min(fetched.size, plan.packages);
    onProgress?.({ phase: "installing", done, total: plan.packages });
  };
  const onLine = (line: string) => {
    const [, tarball] = /^npm http \S+ .*?(\S+\.tgz)/.exec(line) ?? [];
    if (tarball === undefined) return;
    fetched.add(tarball);
    report();
  };
  report();
  for (const args of plan.npm) await runNpm(npm, { folder, args, environment, signal, onLine });
}

async function provenanceOf(
  entry: AgentEntry,
  { source }: InstallPlan,
  folder: string,
  { verified, platform, now }: InstallationSetting & { readonly verified: string },
): Promise<Provenance> {
  const manifest = await readFile(join(folder, "package.json"), "utf8");
  const lockfile = await readFile(join(folder, "package-lock.json"), "utf8");
  const packages = packagesIn(lockfile, platform);
  const agentProcess = namedPackage(packages, entry.install?.agentProcess ?? "");
  const native = entry.install?.agent === undefined ? undefined : namedPackage(packages, entry.install.agent);
  return {
    agent: entry.id,
    version: agentProcess.version,
    agentProcess,
    ...(native && { native }),
    source,
    lock: createHash("sha256").update(manifest).update(lockfile).digest("hex"),
    packages: [...packages],
    platform,
    node: process.versions.node,
    verified,
    installedAt: now().toISOString(),
  };
}

function namedPackage(packages: readonly InstalledPackage[], name: string): InstalledPackage {
  const found = packages.find((each) => each.name === name);
  if (!found) throw new AgentError("install_failed", `${name} is not among what npm installed.`);
  return found;
}

const run = promisify(execFile);
const LIMIT_MS = 60_000;

/** Options of {@link verifyInstall}. */
interface VerificationOptions {
  readonly install: string;
  readonly node: string;
  readonly platform: string;
  readonly path: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Runs a new install to get its version, in a temporary home. */
async function verifyInstall(entry: AgentEntry, options: VerificationOptions): Promise<string> {
  const { command, args } = launchCommand(
    { ...entry, start: entry.start && { ...entry.start, args: [] } },
    options,
  );
  const home = await mkdtemp(join(tmpdir(), "reins-verify-"));
  try {
    const { stdout, stderr } = await run(command, [...args, ...entry.verify], {
      cwd: home,
      env: { ...(options.path !== undefined && { PATH: options.path }), HOME: home, TMPDIR: home },
      timeout: LIMIT_MS,
      ...(options.signal && { signal: options.signal }),
    });
    const [said = ""] = `${stdout}\n${stderr}`.trim().split("\n");
    return said;
  } catch (cause) {
    if (options.signal?.aborted) throw new AgentError("cancelled", "The install was cancelled.", { cause });
    const reason = errorMessage(cause);
    throw new AgentError("install_failed", `${entry.name} was installed but does not run: ${reason}`, {
      cause,
    });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
