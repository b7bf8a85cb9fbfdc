import type { Command } from "commander";
import { exitCodesHelp } from "../../errors.ts";
import type { Invocation } from "../../program.ts";
import type { InstallFlags } from "./install.ts";
import type { ServiceFlags } from "./keeper.ts";

const CODES = {
  done: "done",
  failed: "failed; the message says why",
  usage: "wrong usage",
  unreachable: "nothing here keeps services for this user",
} as const;

/** Declares `reins service` and what belongs to it. */
export function declareService(program: Command, invocation: Invocation): void {
  const service = program
    .command("service")
    .summary("keep Reins running in the background")
    .description(
      "Has reins up started when you log in and kept running: a unit of systemd for its user on Linux, an agent of " +
        "launchd on macOS. How it runs stands in reins.yaml, and its keys in the file environment, both in the home.",
    );
  declareInstall(service);
  declareUninstall(service);
  declareStatus(service, invocation);
}

function declareInstall(service: Command): void {
  const install = service
    .command("install")
    .summary("start it now and at every login")
    .description("Writes the file of the service, makes one for its keys where there is none, and starts it.")
    .option("--print", "print the file of the service, and change nothing");
  flags(install)
    .addHelpText(
      "after",
      `
Examples:
  reins service install
  reins service install --print
  reins service install --home ~/work-reins --name reins-work`,
    )
    .addHelpText("after", exitCodesHelp(CODES))
    .action(async (_, command: Command) => {
      const { install } = await import("./install.ts");
      await install(command.optsWithGlobals<InstallFlags>());
    });
}

function declareUninstall(service: Command): void {
  const uninstall = service
    .command("uninstall")
    .summary("stop it, and start it no more")
    .description("Stops the service and takes its file away. The home stays, with everything in it.");
  flags(uninstall)
    .addHelpText("after", exitCodesHelp(CODES))
    .action(async (_, command: Command) => {
      const { uninstall } = await import("./uninstall.ts");
      await uninstall(command.optsWithGlobals<ServiceFlags>());
    });
}

function declareStatus(service: Command, invocation: Invocation): void {
  const status = service
    .command("status")
    .summary("tell whether it runs")
    .description("Tells whether the service is installed, starts at login, runs, and answers.");
  flags(status)
    .addHelpText("after", exitCodesHelp({ ...CODES, done: "it runs and answers", failed: "it does not" }))
    .action(async (_, command: Command) => {
      const { status } = await import("./status.ts");
      invocation.exitCode = await status(command.optsWithGlobals<ServiceFlags>());
    });
}

function flags(command: Command): Command {
  return command
    .option("--home <folder>", "the home folder")
    .option("--name <name>", "what the service is called", "reins")
    .option("--json", "print the answer as JSON");
}
