import { homedir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { CliError, EXIT } from "../../errors.ts";
import { homeFolder } from "../../home.ts";
import { Launchd } from "./launchd.ts";
import { type RunProgram, runProgram, type ServiceManager, type ServicePlan } from "./manager.ts";
import { Systemd } from "./systemd.ts";

export interface ServiceFlags {
  readonly home?: string;
  readonly name: string;
  readonly json?: boolean;
}

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly environment: NodeJS.ProcessEnv;
  readonly folder: string;
  readonly user: number;
  readonly command: readonly string[];
  readonly run: RunProgram;
}

export function thisMachine(): Machine {
  const [, script = ""] = process.argv;
  return {
    platform: process.platform,
    environment: process.env,
    folder: homedir(),
    user: userInfo().uid,
    command: [process.execPath, ...process.execArgv, script],
    run: runProgram,
  };
}

export function serviceManagerFor(
  flags: ServiceFlags,
  machine: Machine,
): { readonly manager: ServiceManager; readonly plan: ServicePlan } {
  const plan = planFor(flags, machine);
  if (machine.platform === "linux")
    return { plan, manager: new Systemd(plan, configFolder(machine), machine.run) };
  if (machine.platform === "darwin") return { plan, manager: new Launchd(plan, machine.user, machine.run) };
  throw new CliError(`Reins supports no service manager on ${machine.platform}.`, {
    next: `Run this with the service manager of this machine: ${plan.command.join(" ")}`,
    exitCode: EXIT.failed,
  });
}

function planFor({ home: flag, name }: ServiceFlags, { environment, folder, command }: Machine): ServicePlan {
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(name))
    throw new CliError(`"${name}" is not a name for a service.`, {
      next: "Use lowercase letters, digits and dashes, such as reins or reins-work.",
    });
  const home = homeFolder(flag, environment);
  const plan = {
    name,
    home,
    folder,
    command: [...command, "up", "--home", home],
    environmentFile: join(home, "environment"),
    path: environment.PATH || "/usr/local/bin:/usr/bin:/bin",
  };
  const broken = [home, folder, plan.path, ...command].find((text) => /[\n\r\0]/.test(text));
  if (broken === undefined) return plan;
  throw new CliError("A service file cannot contain a path with a line break.", {
    next: `Choose another than ${JSON.stringify(broken)}.`,
  });
}

function configFolder({ environment, folder }: Machine): string {
  const { XDG_CONFIG_HOME } = environment;
  return XDG_CONFIG_HOME && isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(folder, ".config");
}
