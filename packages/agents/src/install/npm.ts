import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { AgentError } from "../agent-error.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How npm, or another program, is started. */
export interface Npm {
  readonly command: string;
  readonly args: readonly string[];
}

/** How npm is run. */
export interface NpmRun {
  readonly folder: string;
  readonly args: readonly string[];
  readonly environment: Environment;
  readonly signal?: AbortSignal | undefined;
  /** Called with each line that npm prints. */
  readonly onLine?: ((line: string) => void) | undefined;
}

// Given on the command line because that is stronger than any configuration: an install has to come out the same
// everywhere. What the user has configured about registries and proxies stays.
const FLAGS = [
  "--no-audit",
  "--no-fund",
  "--no-update-notifier",
  "--loglevel=http",
  "--engine-strict=false",
  "--package-lock=true",
  "--dry-run=false",
  "--global=false",
  "--install-strategy=hoisted",
  "--omit=dev",
  "--include=optional",
  "--include=peer",
  "--prefer-offline",
  "--package-lock-only=false",
  // A package may depend on the index alone: no code of another place is fetched, and no address of this network asked.
  "--allow-git=none",
  "--allow-remote=none",
  "--allow-file=none",
  "--allow-directory=none",
  // The same for an npm that does not know these.
  "--git=git-is-not-used",
];
/** What npm only warns of: a file of a package that it could not write, as on a full disk. */
const UNWRITTEN = /\bTAR_(?:ENTRY|BAD)_\w+/;
const KEPT_OUTPUT = 16 * 1024;
const ERROR = /^npm (?:error|ERR!) ?/;
/** Where npm keeps its log, which helps only a person at that machine. */
const POINTER = /^A complete log of this run can be found in/;
const PATIENCE_MS = 2_000;

/** Finds npm: the one that runs us, the one that came with this Node, or the one on PATH. */
export function findNpm(environment: Environment, node = process.execPath): Npm | undefined {
  const folders = (environment.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const scripts = [
    environment.npm_execpath,
    join(dirname(node), "..", "lib", "node_modules", "npm", "bin", "npm-cli.js"),
    join(dirname(node), "node_modules", "npm", "bin", "npm-cli.js"),
    ...folders.map((folder) => join(folder, "npm")),
    ...folders.map((folder) => join(folder, "node_modules", "npm", "bin", "npm-cli.js")),
  ];
  for (const script of scripts) {
    if (script === undefined || !existsSync(script)) continue;
    const real = realpathSync(script);
    if (real.endsWith("npm-cli.js")) return { command: node, args: [real] };
  }
  const program = folders.map((folder) => join(folder, "npm")).find((path) => existsSync(path));
  return program === undefined ? undefined : { command: program, args: [] };
}

/** Runs npm to its end. Throws, with what it said last, when it fails. */
export async function runNpm({ command, args }: Npm, { args: given, ...run }: NpmRun): Promise<void> {
  const environment = withoutCaller(run.environment);
  let unwritten: string | undefined;
  const onLine = (line: string) => {
    if (UNWRITTEN.test(line)) unwritten ??= line.replace(/^npm warn /i, "");
    run.onLine?.(line);
  };
  const tool = { ...run, name: "npm", environment, onLine };
  await runTool({ command, args: [...args, ...FLAGS, ...given] }, tool);
  if (unwritten !== undefined)
    throw new AgentError("install_failed", `npm could not write all of it: ${unwritten}`);
}

/** How a program that installs packages is run. */
type ToolRun = Omit<NpmRun, "args"> & { readonly name: string };

/** Runs a program to its end. Throws, with what it said last, when it fails. */
export async function runTool(
  { command, args }: Npm,
  { name, folder, environment, signal, onLine }: ToolRun,
): Promise<void> {
  const child = spawn(command, args, {
    cwd: folder,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let patience: NodeJS.Timeout | undefined;
  const stop = () => {
    child.kill("SIGTERM");
    // Such a program may not end while it waits for an answer.
    patience = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  };
  signal?.addEventListener("abort", stop, { once: true });
  const output = new Lines(onLine);
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => output.push(text));
  }
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    if (signal?.aborted) throw new AgentError("cancelled", "The install was cancelled.");
    if (code !== 0)
      throw new AgentError("install_failed", `${name} could not install it: ${output.reason(code)}`);
  } finally {
    signal?.removeEventListener("abort", stop);
    clearTimeout(patience);
  }
}

// Under `npm run`, npm passes to its children where it was called; another npm would read that as where it is called.
function withoutCaller(environment: Environment): Record<string, string | undefined> {
  const own = /^(?:npm_(?:package|lifecycle)_|npm_config_(?:local_prefix|prefix)$|npm_command$|INIT_CWD$)/i;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !own.test(name)));
}

/** Takes what a program prints apart into lines, and keeps the end of its complaints. */
class Lines {
  readonly #onLine: ((line: string) => void) | undefined;
  #rest = "";
  #kept = "";

  constructor(onLine: ((line: string) => void) | undefined) {
    this.#onLine = onLine;
  }

  push(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = (lines.pop() ?? "").slice(-KEPT_OUTPUT);
    for (const line of lines) {
      this.#onLine?.(line);
      if (!/^npm http /.test(line)) this.#kept = `${this.#kept}${line}\n`.slice(-KEPT_OUTPUT);
    }
  }

  /** Why npm failed, in its own words and without its prefix; without any, how it ended. */
  reason(code: number | null): string {
    const lines = `${this.#kept}${this.#rest}`.split("\n");
    const errors = lines.filter((line) => ERROR.test(line)).map((line) => line.replace(ERROR, "").trimEnd());
    const said = errors.filter((line) => line !== "" && !POINTER.test(line));
    if (said.length > 0) return said.join("\n");
    const rest = lines.filter((line) => line.trim() !== "" && !ERROR.test(line)).join("\n");
    return `it ended with code ${code} and gave no reason.${rest && `\n${rest}`}`;
  }
}
