import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AgentEntry } from "../agent-entry.ts";
import { type AgentLaunch, type LaunchOptions, launchOf } from "../agent-launch.ts";
import type { HookAgent } from "./hook-agents.ts";

/** Where an agent runs as a person runs it in a terminal: with its own program and the user's settings. */
export interface TerminalOptions extends Pick<LaunchOptions, "model" | "environment" | "node"> {
  /** The folder of the install, where the program is from there. */
  readonly install?: string | undefined;
  readonly agent: HookAgent;
  readonly entry: AgentEntry;
  /** The home of the user, and a folder for temporary files. */
  readonly userHome: string;
  readonly temporary: string;
  /** The program, where it is not that of the install. */
  readonly program?: string | undefined;
}

/** How a run in a terminal ended. */
export interface TerminalRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const RUN_MS = 120_000;
const MAX_OUTPUT = 1_000_000;

/** How an agent is started in a terminal, without the profile under which Reins itself runs it. */
export function terminalLaunch(options: TerminalOptions): AgentLaunch {
  const { agent, entry, userHome, temporary, program, install, ...others } = options;
  const from = install ?? (program === undefined ? undefined : "");
  const { start, env, prompt, files = [] } = agent.terminal;
  const profile = { env, args: [], files: [...files], clears: [], configOptions: {}, meta: {} };
  const launch = launchOf(
    { ...entry, start: { imports: [], ...start }, profile },
    {
      ...others,
      ...(from !== undefined && { install: from }),
      folders: { home: userHome, temporary },
      platform: `${process.platform}-${process.arch}`,
    },
  );
  const [script, ...rest] = launch.args;
  const own = start.with === "node" ? rest : launch.args;
  if (program !== undefined && !/\.[cm]?js$/.test(program))
    return { ...launch, command: program, args: [...own, ...prompt] };
  if (program !== undefined) return { ...launch, command: others.node, args: [program, ...own, ...prompt] };
  return { ...launch, args: [...(start.with === "node" && script ? [script] : []), ...own, ...prompt] };
}

/** Writes what the model endpoint of a trial needs into the home; settings that are there stay. */
export async function prepareTerminal({ files }: AgentLaunch, userHome: string): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(userHome, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: "wx" });
  }
}

/** Gives an agent one prompt in a folder, without a terminal, and waits for its end. */
export function runInTerminal(
  { command, args, env }: AgentLaunch,
  prompt: string,
  cwd: string,
  signal?: AbortSignal,
): Promise<TerminalRun> {
  const { promise, resolve, reject } = Promise.withResolvers<TerminalRun>();
  const child = spawn(command, [...args, prompt], {
    ...{
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"] as const,
      timeout: RUN_MS,
      killSignal: "SIGKILL" as const,
    },
    ...(signal && { signal }),
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] = (output[name] + text).slice(-MAX_OUTPUT);
    });
  child.on("error", reject);
  child.on("close", (code) => resolve({ code, ...output }));
  return promise;
}
