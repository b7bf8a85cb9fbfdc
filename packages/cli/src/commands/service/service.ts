import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { homedir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { replaceFile } from "@reins/kit";
import { command, group, HOME } from "../../command.ts";
import { CliError, EXIT, systemCode } from "../../errors.ts";
import { writeNewFile } from "../../files.ts";
import { openHome, operatorSocketIn } from "../../home.ts";
import { print } from "../../output.ts";
import { isServed } from "../../serving/listen.ts";
import { Launchd } from "./launchd.ts";
import { Systemd } from "./systemd.ts";

const CODES = {
  done: "done",
  failed: "failed; the message says why",
  usage: "wrong usage",
  unreachable: "no service manager is available for this user",
} as const;

const SERVICE = {
  home: HOME,
  name: ["--name <name>", "what the service is called", { default: ["reins"] }],
  json: ["--json", "print the response as JSON"],
} as const;

const installCommand = command({
  summary: "start it now and at every login",
  description: "Writes the service file, creates a file for its keys if it is missing, and starts it.",
  inputs: { printOnly: ["--print", "print the service file, and change nothing"], ...SERVICE },
  examples: [
    "reins service install",
    "reins service install --print",
    "reins service install --home ~/work-reins --name reins-work",
  ],
  codes: CODES,
  async run({ printOnly, ...flags }, { notice }) {
    const { manager, plan } = serviceManagerFor(flags);
    if (printOnly) {
      print(manager.text);
      return undefined;
    }
    const { environmentFile: environment_file } = plan;
    const { file, name: keeper, logs, advice } = manager;
    await manager.require();
    await openHome(plan.home, notice);
    const { othersMayRead } = await openEnvironmentFile(environment_file);
    if (othersMayRead) notice(`Others may read ${environment_file}; run: chmod 600 ${environment_file}`);
    await replaceFile(file, manager.text);
    await manager.start();
    const text =
      `${keeper} runs Reins now, with ${file}\n  keys go into: ${environment_file}\n` +
      `  its log:      ${logs}\n  ${advice}\n`;
    return { json: { keeper, file, environment_file, logs }, text: () => text };
  },
});

const uninstallCommand = command({
  summary: "stop it, and remove it",
  description: "Stops the service and removes its file. The home stays, with everything in it.",
  inputs: SERVICE,
  codes: CODES,
  async run(flags) {
    const { manager, plan } = serviceManagerFor(flags);
    const { name: keeper, file } = manager;
    if (!existsSync(file))
      throw new CliError(`There is no service ${plan.name}: ${file} does not exist.`, {
        next: "If it was installed under another name, give --name.",
        exitCode: EXIT.failed,
      });
    await manager.require();
    await manager.stop();
    await rm(file);
    await manager.forget();
    const text = `the service was removed from ${keeper}; ${plan.home} stays as it is\n`;
    return { json: { keeper, file, removed: true }, text: () => text };
  },
});

const statusCommand = command({
  summary: "show whether it runs",
  description: "Shows whether the service is installed, starts at login, runs, and answers.",
  inputs: SERVICE,
  codes: { ...CODES, done: "it runs and answers", failed: "it does not" },
  async run(flags) {
    const { manager, plan } = serviceManagerFor(flags);
    const { name: keeper, file, logs } = manager;
    const answers = await isServed(operatorSocketIn(plan.home));
    const installed = existsSync(file);
    const state = installed ? await stateOf(manager) : NOT_INSTALLED;
    const json = { keeper, file, ...state, installed, answers };
    const exitCode = state.running && answers ? EXIT.done : EXIT.failed;
    return { json, text: () => statusText(json, logs), exitCode };
  },
});

const DESCRIPTION =
  "Starts reins up at login and keeps it running: a systemd user unit on Linux, a launchd agent on macOS. Its " +
  "settings are in reins.yaml, and its keys in the file environment, both in the home.";

export const serviceCommand = group(DESCRIPTION, {
  install: installCommand,
  uninstall: uninstallCommand,
  status: statusCommand,
});

interface ServiceFlags {
  readonly home: string;
  readonly name: string;
}

function serviceManagerFor(flags: ServiceFlags): {
  readonly manager: ServiceManager;
  readonly plan: ServicePlan;
} {
  const plan = planFor(flags);
  if (process.platform === "linux") return { plan, manager: new Systemd(plan, configFolder(), runProgram) };
  if (process.platform === "darwin") return { plan, manager: new Launchd(plan, userInfo().uid, runProgram) };
  throw new CliError(`Reins supports no service manager on ${process.platform}.`, {
    next: `Run this with the service manager of this machine: ${plan.command.join(" ")}`,
    exitCode: EXIT.failed,
  });
}

function planFor({ home, name }: ServiceFlags): ServicePlan {
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(name))
    throw new CliError(`"${name}" is not a name for a service.`, {
      next: "Use lowercase letters, digits and dashes, such as reins or reins-work.",
    });
  const [, script = ""] = process.argv;
  const plan = {
    name,
    home,
    folder: homedir(),
    command: [process.execPath, ...process.execArgv, script, "up", "--home", home],
    environmentFile: join(home, "environment"),
    path: process.env.PATH || "/usr/local/bin:/usr/bin:/bin",
  };
  const broken = [plan.folder, plan.path, ...plan.command].find((text) => /[\n\r\0]/.test(text));
  if (broken === undefined) return plan;
  throw new CliError("A service file cannot contain a path with a line break.", {
    next: `Choose another than ${JSON.stringify(broken)}.`,
  });
}

/** The XDG specification says to ignore relative paths. */
function configFolder(): string {
  const { XDG_CONFIG_HOME } = process.env;
  return XDG_CONFIG_HOME && isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(homedir(), ".config");
}

const NOT_INSTALLED = { enabled: false, running: false, pid: undefined } as const;

async function stateOf(manager: ServiceManager): Promise<ServiceState> {
  await manager.require();
  return manager.state();
}

interface Status extends ServiceState {
  readonly file: string;
  readonly installed: boolean;
  readonly answers: boolean;
}

function statusText({ file, installed, enabled, running, pid, answers }: Status, logs: string): string {
  const answer = `Reins ${answers ? "answers" : "does not answer"} on its home\n`;
  if (!installed) return `not installed; to install it: reins service install\n${answer}`;
  const life = running ? `running${pid === undefined ? "" : `, as process ${pid}`}` : "not running";
  const login = enabled ? "starts at login" : "does not start at login";
  return `installed by ${file}; ${login}; ${life}\n${answer}its log: ${logs}\n`;
}

const FIRST = `# Variables of the service, one on each line. Only this user can read the file.
# The key of a model for the native agent, without which it only shows how things go:
#ANTHROPIC_API_KEY=
#OPENAI_API_KEY=
# What reins.yaml says too: REINS_PORT, REINS_TTL, REINS_PRELOAD_STANDING and so on; see reins up --help.
`;
const OTHERS_MAY_READ = 0o077;

/** Creates the file if it is missing. Returns whether others may read it. */
async function openEnvironmentFile(path: string): Promise<{ readonly othersMayRead: boolean }> {
  try {
    const { mode } = await stat(path);
    return { othersMayRead: (mode & OTHERS_MAY_READ) !== 0 };
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    await writeNewFile(path, [FIRST]);
    return { othersMayRead: false };
  }
}

export interface ServicePlan {
  /** A second service, for another home, needs another name. */
  readonly name: string;
  readonly command: readonly string[];
  readonly home: string;
  readonly folder: string;
  /** Lines NAME=value, such as the key of a model. */
  readonly environmentFile: string;
  readonly path: string;
}

export interface ServiceState {
  readonly enabled: boolean;
  readonly running: boolean;
  readonly pid: number | undefined;
}

export interface ServiceManager {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly logs: string;
  readonly advice: string;
  /** Throws with what to do where the manager is not available. */
  require(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Called after the file was removed. */
  forget(): Promise<void>;
  state(): Promise<ServiceState>;
}

interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end; exit code 127 if it cannot be started. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<ProgramResult>;

const DEADLINE_MS = 60_000;

export const runProgram: RunProgram = (program, args) =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: DEADLINE_MS, encoding: "utf8" }, (error, stdout, stderr) => {
      const code = error ? (typeof error.code === "number" ? error.code : 127) : 0;
      const why = code === 127 && stderr === "" ? String(error?.message) : stderr;
      resolve({ code, stdout, stderr: why });
    });
  });

export async function mustRun(run: RunProgram, program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(program, args);
  if (code === 0) return stdout;
  const line = [program, ...args].join(" ");
  throw new CliError(`${line} failed: ${(stderr || stdout).trim() || `exit code ${code}`}`, {
    next: "Correct that, then run the same command again.",
    exitCode: EXIT.failed,
  });
}
