import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { AgentError } from "../agent-error.ts";
import type { InstalledPackage, PythonPlan } from "./install-plan.ts";
import type { InstallationSetting } from "./installation.ts";
import { runTool } from "./npm.ts";
import { type Fetched, programIn } from "./packages.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Finds uv, which installs Python packages. */
export function findUv({ PATH = "" }: Environment): string | undefined {
  const names = process.platform === "win32" ? ["uv.exe"] : ["uv"];
  const files = PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  return files.find((file) => existsSync(file));
}

/** Programs and hashes are taken as they are published: nothing is built, because that runs code of packages. */
const WHEELS = ["--only-binary", ":all:"];
const QUIET = ["--no-progress", "--color", "never", "--no-python-downloads"];

/** Installs Python packages by their hashes into an environment of their own. */
export async function installPython(
  plan: PythonPlan,
  folder: string,
  setting: InstallationSetting,
): Promise<Fetched> {
  const { pins, environment, signal, onProgress } = setting;
  const uv = findUv(environment);
  if (uv === undefined)
    throw new AgentError("install_failed", "It is installed by uv, which is not on PATH. Install uv.");
  const run = (...args: string[]) =>
    runTool({ command: uv, args: [...args, ...QUIET] }, { name: "uv", folder, environment, signal });
  onProgress?.({ phase: "installing", done: 0, total: 1 });
  const wanted = `${plan.package}==${plan.version}`;
  const known = await pins.find(`python ${wanted}`);
  const [source, requirements] = ["requirements.in", "requirements.txt"].map((name) => join(folder, name));
  if (source === undefined || requirements === undefined) throw new Error("a path is missing");
  if (known === undefined) {
    await writeFile(source, `${wanted}\n`);
    await run("pip", "compile", source, "--generate-hashes", "--no-header", ...WHEELS, "-o", requirements);
  } else await writeFile(requirements, known);
  const venv = join(folder, "venv");
  await run("venv", "--relocatable", venv);
  await run("pip", "install", "--python", venv, "--require-hashes", ...WHEELS, "-r", requirements);
  const locked = await readFile(requirements, "utf8");
  const packages = requiredIn(locked);
  const [name = ""] = plan.package.split("[");
  const scripts = process.platform === "win32" ? "Scripts" : "bin";
  const program = await programIn(folder, join(venv, scripts, name));
  if (known === undefined) await pins.keep(`python ${wanted}`, locked);
  onProgress?.({ phase: "installing", done: 1, total: 1 });
  return {
    packages,
    agentProcess: { name, version: plan.version },
    lock: createHash("sha256").update(locked).digest("hex"),
    start: { with: "file", file: program, args: [...plan.args], imports: [] },
  };
}

/** The packages of a list of requirements with hashes. */
function requiredIn(requirements: string): InstalledPackage[] {
  return [...requirements.matchAll(/^([\w.-]+)(?:\[[^\]]*\])?==([^\s\\;]+)[^\n]*\n\s+--hash=(\S+)/gm)].map(
    ([, name = "", version = "", integrity = ""]) => ({ name, version, integrity }),
  );
}
