import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { access, constants, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { withoutInheritance } from "./inheritance.ts";
import type { Launch } from "./launch.ts";
import { MARK_VARIABLE, type Mark } from "./mark.ts";
import { ProcessError } from "./process-error.ts";

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
  // Otherwise a missing folder would be told as a missing command.
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

/** The file that a command stands for. */
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
