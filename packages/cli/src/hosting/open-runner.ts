import { AgentRunner, type AgentRunnerOptions } from "@reins/host";
import { OpenHosting, type OpenHostingOptions } from "./open-hosting.ts";

/** How the sessions of `/ws` are run. */
export type RunnerSettings = Pick<
  AgentRunnerOptions,
  "backend" | "ttlMs" | "preloadStanding" | "heartbeatMs"
>;

/** What a home is opened with, to be served. */
interface OpenRunnerOptions extends OpenHostingOptions {
  readonly report: (error: unknown) => void;
  readonly settings: RunnerSettings;
}

/** A home that is served: what decides, what runs agents, and the sessions that are kept, evicted and woken. */
export class OpenRunner {
  readonly runner: AgentRunner;
  readonly #opened: OpenHosting;

  private constructor(runner: AgentRunner, opened: OpenHosting) {
    this.runner = runner;
    this.#opened = opened;
  }

  /** What decides. */
  get harness(): OpenHosting["harness"] {
    return this.#opened.harness;
  }

  /** What runs agents. */
  get hosting(): OpenHosting["hosting"] {
    return this.#opened.hosting;
  }

  /** Opens a home. Standing agents get their sessions afterwards, because an agent may take its time to start. */
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

  /** Lets go of the home after an error, if that error is one after which nothing can be written any more. */
  async abandonAfter(error: unknown): Promise<boolean> {
    if (!(await this.#opened.abandonAfter(error))) return false;
    this.runner.close();
    return true;
  }

  /** Ends what goes on in the background and the agents, and lets go of the home. */
  async close(): Promise<void> {
    this.runner.close();
    await this.#opened.close();
  }
}
