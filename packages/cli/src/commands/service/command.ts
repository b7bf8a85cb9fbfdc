import { existsSync } from "node:fs";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Command } from "commander";
import { CliError, EXIT, exitCodesHelp, helpText, systemCode } from "../../errors.ts";
import { writeNewFile } from "../../files.ts";
import { openHome, operatorSocketIn } from "../../home.ts";
import { noticeOnStderr, print } from "../../output.ts";
import type { Invocation } from "../../program.ts";
import { isServed } from "../../serving/socket.ts";
import { type Machine, type ServiceFlags, serviceManagerFor, thisMachine } from "./machine.ts";
import type { ServiceManager, ServiceState } from "./manager.ts";

const CODES = {
  done: "done",
  failed: "failed; the message says why",
  usage: "wrong usage",
  unreachable: "no service manager is available for this user",
} as const;

export function declareService(service: Command, invocation: Invocation): void {
  service.description(
    "Starts reins up at login and keeps it running: a systemd user unit on Linux, a launchd agent on macOS. Its " +
      "settings are in reins.yaml, and its keys in the file environment, both in the home.",
  );
  declareInstall(service);
  declareUninstall(service);
  declareStatus(service, invocation);
}

function declareInstall(service: Command): void {
  flags(
    service
      .command("install")
      .summary("start it now and at every login")
      .description("Writes the service file, creates a file for its keys if it is missing, and starts it.")
      .option("--print", "print the service file, and change nothing"),
  )
    .addHelpText(
      "after",
      helpText(
        `
Examples:
  reins service install
  reins service install --print
  reins service install --home ~/work-reins --name reins-work`,
        CODES,
      ),
    )
    .action((_, command: Command) => install(command.optsWithGlobals<InstallFlags>()));
}

function declareUninstall(service: Command): void {
  flags(
    service
      .command("uninstall")
      .summary("stop it, and remove it")
      .description("Stops the service and removes its file. The home stays, with everything in it."),
  )
    .addHelpText("after", exitCodesHelp(CODES))
    .action((_, command: Command) => uninstall(command.optsWithGlobals<ServiceFlags>()));
}

function declareStatus(service: Command, invocation: Invocation): void {
  flags(
    service
      .command("status")
      .summary("show whether it runs")
      .description("Shows whether the service is installed, starts at login, runs, and answers."),
  )
    .addHelpText("after", exitCodesHelp({ ...CODES, done: "it runs and answers", failed: "it does not" }))
    .action(async (_, command: Command) => {
      invocation.exitCode = await status(command.optsWithGlobals<ServiceFlags>());
    });
}

function flags(command: Command): Command {
  return command
    .option("--home <folder>", "the home folder")
    .option("--name <name>", "what the service is called", "reins")
    .option("--json", "print the response as JSON");
}

interface InstallFlags extends ServiceFlags {
  readonly print?: boolean;
}

export async function install(flags: InstallFlags, machine: Machine = thisMachine()): Promise<void> {
  const { manager, plan } = serviceManagerFor(flags, machine);
  if (flags.print) return print(manager.text);
  await manager.require();
  await openHome(plan.home, noticeOnStderr(flags.json));
  const { othersMayRead } = await openEnvironmentFile(plan.environmentFile);
  if (othersMayRead)
    noticeOnStderr(flags.json)(
      `Others may read ${plan.environmentFile}; run: chmod 600 ${plan.environmentFile}`,
    );
  await mkdir(dirname(manager.file), { recursive: true });
  await writeFile(manager.file, manager.text, { mode: 0o600 });
  await manager.start();
  const { file, name, logs, advice } = manager;
  print(
    flags.json
      ? `${JSON.stringify({ keeper: name, file, environment_file: plan.environmentFile, logs })}\n`
      : `${name} runs Reins now, with ${file}\n  keys go into: ${plan.environmentFile}\n  its log:      ${logs}\n  ${advice}\n`,
  );
}

async function uninstall(flags: ServiceFlags, machine: Machine = thisMachine()): Promise<void> {
  const { manager, plan } = serviceManagerFor(flags, machine);
  if (!existsSync(manager.file))
    throw new CliError(`There is no service ${plan.name}: ${manager.file} does not exist.`, {
      next: "If it was installed under another name, give --name.",
      exitCode: EXIT.failed,
    });
  await manager.require();
  await manager.stop();
  await rm(manager.file);
  await manager.forget();
  print(
    flags.json
      ? `${JSON.stringify({ keeper: manager.name, file: manager.file, removed: true })}\n`
      : `the service was removed from ${manager.name}; ${plan.home} stays as it is\n`,
  );
}

async function status(flags: ServiceFlags, machine: Machine = thisMachine()): Promise<number> {
  const { manager, plan } = serviceManagerFor(flags, machine);
  const answers = await isServed(operatorSocketIn(plan.home));
  const isInstalled = existsSync(manager.file);
  const state = isInstalled ? await stateOf(manager) : NOT_INSTALLED;
  const told = { keeper: manager.name, file: manager.file, ...state, installed: isInstalled, answers };
  print(flags.json ? `${JSON.stringify(told)}\n` : words(told, manager.logs));
  return state.running && answers ? EXIT.done : EXIT.failed;
}

const NOT_INSTALLED = { enabled: false, running: false, pid: undefined } as const;

async function stateOf(manager: ServiceManager): Promise<ServiceState> {
  await manager.require();
  return manager.state();
}

interface Told {
  readonly file: string;
  readonly installed: boolean;
  readonly enabled: boolean;
  readonly running: boolean;
  readonly pid: number | undefined;
  readonly answers: boolean;
}

function words({ file, installed, enabled, running, pid, answers }: Told, logs: string): string {
  const heard = `Reins ${answers ? "answers" : "does not answer"} on its home\n`;
  if (!installed) return `not installed; to install it: reins service install\n${heard}`;
  const life = running ? `running${pid === undefined ? "" : `, as process ${pid}`}` : "not running";
  const login = enabled ? "starts at login" : "does not start at login";
  return `installed by ${file}; ${login}; ${life}\n${heard}its log: ${logs}\n`;
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
