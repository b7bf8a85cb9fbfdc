import { join } from "node:path";
import { CliError, EXIT } from "../../errors.ts";
import { launchdLabel, launchdLogs, launchdPlist } from "./launchd-plist.ts";
import { mustRun, type Run } from "./ran.ts";
import type { ServiceKeeper, ServicePlan, ServiceState } from "./service.ts";

/** The launchd of a user who is logged in. */
export class Launchd implements ServiceKeeper {
  readonly name = "launchd";
  readonly file: string;
  readonly text: string;
  readonly logs: string;
  readonly advice = "It starts when you log in.";
  readonly #domain: string;
  readonly #label: string;
  readonly #run: Run;

  constructor(plan: ServicePlan, user: number, run: Run) {
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
    // One that is loaded already keeps the file it was loaded from.
    if ((await this.state()).enabled) await this.stop();
    await mustRun(this.#run, "launchctl", ["bootstrap", this.#domain, this.file]);
  }

  async stop(): Promise<void> {
    if ((await this.state()).enabled) await mustRun(this.#run, "launchctl", ["bootout", this.#target]);
  }

  async forget(): Promise<void> {
    // What is not loaded is not known any more.
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
