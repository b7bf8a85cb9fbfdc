import { join } from "node:path";
import { CliError, EXIT } from "../../errors.ts";
import {
  mustRun,
  type RunProgram,
  type ServiceManager,
  type ServicePlan,
  type ServiceState,
} from "./service.ts";

export class Systemd implements ServiceManager {
  readonly name = "systemd";
  readonly file: string;
  readonly text: string;
  readonly logs: string;
  readonly advice: string;
  readonly #unit: string;
  readonly #run: RunProgram;

  constructor(plan: ServicePlan, configFolder: string, run: RunProgram) {
    this.#unit = `${plan.name}.service`;
    this.#run = run;
    this.file = join(configFolder, "systemd", "user", this.#unit);
    this.text = systemdUnit(plan);
    this.logs = `journalctl --user -u ${this.#unit} -f`;
    this.advice = "It starts when you log in. To have it start with the machine: loginctl enable-linger";
  }

  async require(): Promise<void> {
    const { code, stderr } = await this.#run("systemctl", ["--user", "show-environment"]);
    if (code === 0) return;
    throw new CliError(
      `No systemd answers for this user here: ${stderr.trim() || "systemctl is not there"}`,
      {
        next:
          "Run this in a session of a user that has one (in a container there is none); or print the unit with " +
          "reins service install --print, and have reins up kept running by what keeps services here.",
        exitCode: EXIT.unreachable,
      },
    );
  }

  async start(): Promise<void> {
    await this.#systemctl("daemon-reload");
    await this.#systemctl("enable", this.#unit);
    // A running service still uses the file from before.
    await this.#systemctl("restart", this.#unit);
  }

  async stop(): Promise<void> {
    await this.#systemctl("disable", "--now", this.#unit);
  }

  async forget(): Promise<void> {
    await this.#systemctl("daemon-reload");
  }

  async state(): Promise<ServiceState> {
    const shown = await this.#systemctl("show", this.#unit, "--property=UnitFileState,ActiveState,MainPID");
    const said = new Map(
      shown.split("\n").map((line) => [line.split("=", 1)[0], line.slice(line.indexOf("=") + 1)]),
    );
    const pid = Number(said.get("MainPID") ?? 0);
    return {
      enabled: said.get("UnitFileState") === "enabled",
      running: said.get("ActiveState") === "active",
      pid: pid > 0 ? pid : undefined,
    };
  }

  #systemctl(...args: string[]): Promise<string> {
    return mustRun(this.#run, "systemctl", ["--user", ...args]);
  }
}

export function systemdUnit({ command, folder, environmentFile, path }: ServicePlan): string {
  return `[Unit]
Description=Reins, a harness for AI agents
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
ExecStart=${command.map(argument).join(" ")}
WorkingDirectory=${plain(folder)}
Environment=${quoted(`PATH=${path}`)}
EnvironmentFile=-${plain(environmentFile)}
Restart=always
RestartSec=2
KillMode=mixed
TimeoutStopSec=60
UMask=0077
StandardOutput=journal
StandardError=journal

[Install]
WantedBy=default.target
`;
}

/** Escapes a word of a command line, in which systemd expands variables. */
function argument(text: string): string {
  return quoted(text.replaceAll("$", "$$$$"));
}

function quoted(text: string): string {
  return `"${plain(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** Escapes the specifiers of systemd. */
function plain(text: string): string {
  return text.replaceAll("%", "%%");
}
