import { join } from "node:path";
import { CliError, EXIT } from "../../errors.ts";
import {
  mustRun,
  type RunProgram,
  type ServiceManager,
  type ServicePlan,
  type ServiceState,
} from "./service.ts";

export class Launchd implements ServiceManager {
  readonly name = "launchd";
  readonly file: string;
  readonly text: string;
  readonly logs: string;
  readonly advice = "It starts when you log in.";
  readonly #domain: string;
  readonly #label: string;
  readonly #run: RunProgram;

  constructor(plan: ServicePlan, user: number, run: RunProgram) {
    this.#domain = `gui/${user}`;
    this.#label = launchdLabel(plan);
    this.#run = run;
    this.file = join(plan.folder, "Library", "LaunchAgents", `${this.#label}.plist`);
    this.text = launchdPlist(plan);
    const { out, err } = launchdLogs(plan);
    this.logs = `tail -f ${out} ${err}`;
  }

  async require(): Promise<void> {
    const { code, stderr } = await this.#run("launchctl", ["print", this.#domain]);
    if (code === 0) return;
    throw new CliError(`launchd has no session of this user: ${stderr.trim() || "launchctl is not there"}`, {
      next: "Log in at the machine itself first; or print the file with reins service install --print.",
      exitCode: EXIT.unreachable,
    });
  }

  async start(): Promise<void> {
    // A loaded service keeps the file it was loaded from.
    if ((await this.state()).enabled) await this.stop();
    await mustRun(this.#run, "launchctl", ["bootstrap", this.#domain, this.file]);
  }

  async stop(): Promise<void> {
    if ((await this.state()).enabled) await mustRun(this.#run, "launchctl", ["bootout", this.#target]);
  }

  async forget(): Promise<void> {
    // launchd knows nothing of a service that is not loaded.
  }

  async state(): Promise<ServiceState> {
    const { code, stdout } = await this.#run("launchctl", ["print", this.#target]);
    const { pid } = /^\s*pid = (?<pid>\d+)$/m.exec(stdout)?.groups ?? {};
    const isLoaded = code === 0;
    return {
      enabled: isLoaded,
      running: /^\s*state = running$/m.test(stdout),
      pid: pid === undefined ? undefined : Number(pid),
    };
  }

  get #target(): string {
    return `${this.#domain}/${this.#label}`;
  }
}

function launchdLogs({ folder, name }: Pick<ServicePlan, "folder" | "name">) {
  const logs = join(folder, "Library", "Logs");
  return { out: join(logs, `${name}.log`), err: join(logs, `${name}.err.log`) };
}

function launchdLabel({ name }: Pick<ServicePlan, "name">): string {
  return `reins.${name}`;
}

/** The property list of a service. launchd reads no environment file, so a shell does. */
export function launchdPlist(plan: ServicePlan): string {
  const { command, folder, environmentFile, path } = plan;
  const { out, err } = launchdLogs(plan);
  const file = shellWord(environmentFile);
  const script = `set -a; [ ! -r ${file} ] || . ${file}; set +a; exec ${command.map(shellWord).join(" ")}`;
  const words = ["/bin/sh", "-c", script].map((word) => `    <string>${escaped(word)}</string>`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${escaped(launchdLabel(plan))}</string>
  <key>ProgramArguments</key>
  <array>
${words.join("\n")}
  </array>
  <key>WorkingDirectory</key>
  <string>${escaped(folder)}</string>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    <string>${escaped(path)}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>5</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardOutPath</key>
  <string>${escaped(out)}</string>
  <key>StandardErrorPath</key>
  <string>${escaped(err)}</string>
</dict>
</plist>
`;
}

function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
