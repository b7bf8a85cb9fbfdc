import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { ProcessError } from "../errors.ts";
import { findCommand, type Launch } from "./spawn.ts";
import type { Family } from "./sweep.ts";

/** How many characters a terminal shows. */
export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

const DEFAULT_SIZE: TerminalSize = { cols: 80, rows: 24 };
const { O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** The major number of the terminals of Unix98. */
const PTS_MAJOR = 136;

/**
 * Puts a command into a terminal of its own: `script` of util-linux makes one and passes input and output on. Throws where
 * there is none.
 */
export async function inTerminal(launch: Launch, size: TerminalSize = DEFAULT_SIZE): Promise<Launch> {
  const { env, cwd, label, command } = launch;
  const path = env.PATH ?? "";
  const script = process.platform === "linux" ? await findCommand("script", path, cwd) : undefined;
  if (script === undefined)
    throw new ProcessError(
      "no_terminal",
      `${label} could not be started in a terminal: that needs Linux and the command script (package bsdutils or util-linux).`,
    );
  if ((await findCommand(command, path, cwd)) === undefined)
    throw new ProcessError("not_started", `${label} could not be started: ${command} is not a command.`);
  return {
    ...launch,
    command: script,
    // Input that is piped is echoed as a terminal would.
    args: ["-q", "-f", "-e", "-E", "always", "-c", terminalLine(launch, size), "/dev/null"],
    env: { TERM: "xterm-256color", ...env, SHELL: "/bin/sh" },
  };
}

/** What the shell of a terminal runs: it sets the size, gives the variable of `script` back, and becomes the command. */
export function terminalLine(
  { command, args, env }: Pick<Launch, "command" | "args" | "env">,
  { cols, rows }: TerminalSize,
): string {
  const shell = env.SHELL === undefined ? "unset SHELL" : `export SHELL=${quoted(env.SHELL)}`;
  return `stty rows ${rows} cols ${cols}; ${shell}; exec ${[command, ...args].map(quoted).join(" ")}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The number of a terminal by its device number, as `/proc` shows it; undefined for another device. */
export function terminalNumber(device: number): number | undefined {
  const [major, minor] = [(device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00)];
  return major === PTS_MAJOR ? minor : undefined;
}

/** Sets the size of the terminal that processes run in. False if none of them has one yet, or not any more. */
export async function resizeTerminal(family: Family, { cols, rows }: TerminalSize): Promise<boolean> {
  const holder = await family.inTerminal();
  const number = holder && terminalNumber(holder.terminal);
  if (number === undefined) return false;
  // As the process sees it: a sandbox has terminals of its own.
  const path = `/proc/${holder?.pid}/root/dev/pts/${number}`;
  const file = await open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW).catch(() => undefined);
  if (!file) return false;
  try {
    // Whatever a process put in its place is not touched.
    const found = await file.stat();
    if (!found.isCharacterDevice() || terminalNumber(found.rdev) !== number) return false;
    // Until its first size is set, which would replace this one, a terminal has none.
    const before = await stty(file.fd, ["size"]);
    if (before === undefined || before.trim() === "0 0") return false;
    return (await stty(file.fd, ["rows", String(rows), "cols", String(cols)])) !== undefined;
  } finally {
    await file.close();
  }
}

/** What `stty` says of a terminal; undefined where it fails. */
async function stty(terminal: number, args: readonly string[]): Promise<string | undefined> {
  const child = spawn("stty", args, { stdio: [terminal, "pipe", "ignore"], env: { PATH: "/usr/bin:/bin" } });
  const said = child.stdout ? text(child.stdout) : "";
  const [code] = await once(child, "close");
  return code === 0 ? said : undefined;
}
