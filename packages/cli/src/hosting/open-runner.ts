import { AgentRunner, type AgentRunnerOptions } from "@reins/haak";
import { OpenHosting, type OpenHostingOptions } from "./open-hosting.ts";

export type RunnerSettings = Pick<
  AgentRunnerOptions,
  "backend" | "ttlMs" | "preloadStanding" | "heartbeatMs"
>;

interface OpenRunnerOptions extends OpenHostingOptions {
  readonly report: (error: unknown) => void;
  readonly settings: RunnerSettings;
}

/** A served home: what decides, what runs agents, and the sessions of `/ws`. */
export class OpenRunner {
  readonly runner: AgentRunner;
  readonly #opened: OpenHosting;

  private constructor(runner: AgentRunner, opened: OpenHosting) {
    this.runner = runner;
    this.#opened = opened;
  }

  get harness(): OpenHosting["harness"] {
    return this.#opened.harness;
  }

  get hosting(): OpenHosting["hosting"] {
    return this.#opened.hosting;
  }

  /** Standing agents get their sessions afterwards, because an agent may take time to start. */
  static async open(options: OpenRunnerOptions): Promise<OpenRunner> {
    const { settings, ...home } = options;
    const { preloadStanding, ...rest } = settings;
    const { report } = home;
    const opened = await OpenHosting.open(home);
    const { harness, hosting, agents } = opened;
    const isInstalled = (agent: string) => agents.isInstalled(agent);
    const runner = await AgentRunner.open({ harness, hosting, isInstalled, onError: report, ...rest });
    if (preloadStanding) void runner.preload().catch(report);
    return new OpenRunner(runner, opened);
  }

  /** Closes the home if the error made its store unusable. */
  async abandonAfter(error: unknown): Promise<boolean> {
    if (!(await this.#opened.abandonAfter(error))) return false;
    this.runner.close();
    return true;
  }

  async close(): Promise<void> {
    this.runner.close();
    await this.#opened.close();
  }
}
