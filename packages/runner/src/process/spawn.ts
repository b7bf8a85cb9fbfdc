import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { ProcessError } from "../errors.ts";
import type { Confinement } from "../sandbox/confine.ts";
import { MARK_VARIABLE, type Mark } from "./process-table.ts";

/** How an agent is started. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** Everything the child gets, but for the mark; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Its name in messages. */
  readonly label: string;
  /** Absent for a process that is not confined. */
  readonly confinement?: Confinement;
}

/** A child that has been started, with all three streams. */
export interface Spawned {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** Sets the brand, takes back what the shell added to the environment, and becomes the command. */
const BRANDING = `brand=$1 added=$2
shift 2
ulimit -w "$brand" 2>/dev/null || ulimit -x "$brand" 2>/dev/null
unset brand $added
exec "$@"`;
const ADDED_BY_SHELLS = ["PWD", "OLDPWD", "SHLVL", "_"];

/** Starts a command in a session and process group of its own, marked, with no environment but the one given. */
export async function spawnMarked(launch: Launch, mark: Mark): Promise<Spawned> {
  const [command = "", ...args] = await commandLine(launch, mark);
  const env = { ...launch.env, [MARK_VARIABLE]: mark.text };
  const child = withoutInheritance(["pipe", "pipe", "pipe"], (stdio) =>
    spawn(command, args, { cwd: launch.cwd, env, detached: true, stdio }),
  );
  try {
    await once(child, "spawn");
  } catch (cause) {
    throw new ProcessError("not_started", `${launch.label} could not be started: ${String(cause)}`, {
      cause,
    });
  }
  const { pid, stdin, stdout, stderr } = child;
  if (pid === undefined || !stdin || !stdout || !stderr)
    throw new ProcessError("not_started", `${launch.label} was started without a pid or without streams.`);
  return { pid, child, stdin, stdout, stderr };
}

async function commandLine({ command, args, env, cwd, label }: Launch, mark: Mark): Promise<string[]> {
  // Otherwise a missing folder would be reported as a missing command.
  const folder = await stat(cwd).catch(() => undefined);
  if (!folder?.isDirectory())
    throw new ProcessError("not_started", `${label} could not be started: ${cwd} is not a folder.`);
  const path = await findCommand(command, env.PATH ?? "", cwd);
  if (path === undefined)
    throw new ProcessError(
      "not_started",
      `${label} could not be started: ${command} is not a command that can be run. Is it installed?`,
    );
  if (process.platform !== "linux") return [path, ...args];
  const added = ADDED_BY_SHELLS.filter((name) => !(name in env)).join(" ");
  return ["/bin/sh", "-c", BRANDING, "reins", mark.brand, added, path, ...args];
}

/** Finds the file of a command. */
export async function findCommand(command: string, path: string, cwd: string): Promise<string | undefined> {
  const folders = command.includes("/") ? [cwd] : path.split(delimiter).filter(isAbsolute);
  for (const folder of folders) {
    const file = command.includes("/") ? resolve(folder, command) : join(folder, command);
    if (await isExecutable(file)) return file;
  }
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

const O_CLOEXEC = 0o2000000;

/**
 * Starts a child with its three streams and no other descriptor. Node never passes on those it opens, but it may have
 * been started with more, by an editor for instance, and a child would hold them open: it gets /dev/null instead.
 */
export function withoutInheritance<Result>(
  streams: readonly ["pipe", "pipe" | "ignore", "pipe" | "ignore"],
  start: (stdio: StdioOptions) => Result,
): Result {
  const inherited = inheritable();
  const last = inherited.at(-1);
  if (last === undefined) return start([...streams]);
  const nothing = openSync("/dev/null", "r+");
  try {
    const rest = Array.from({ length: last - 2 }, (_, index) =>
      inherited.includes(index + 3) ? nothing : ("ignore" as const),
    );
    return start([...streams, ...rest]);
  } finally {
    closeSync(nothing);
  }
}

/** The descriptors that every child would inherit, where the system shows them. */
function inheritable(): number[] {
  try {
    return readdirSync("/proc/self/fdinfo")
      .map(Number)
      .filter(isInheritable)
      .sort((left, right) => left - right);
  } catch {
    return [];
  }
}

function isInheritable(descriptor: number): boolean {
  if (descriptor <= 2) return false;
  try {
    const [, flags] = /^flags:\t(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8")) ?? [];
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch {
    // It was ours, for reading the folder, and is closed by now.
    return false;
  }
}
