import { AgentRunner, type AgentRunnerOptions, type WireTap } from "@reins/host";
import type { PolicyFileFlags } from "../configuration/policy-files.ts";
import type { Log } from "../log/logger.ts";
import { OpenHosting } from "./open-hosting.ts";

/** How the sessions of `/ws` are run. */
export type RunnerSettings = Pick<
  AgentRunnerOptions,
  "workspace" | "backend" | "ttlMs" | "preloadStanding" | "heartbeatMs"
>;

/** What a home is opened with, to be served. */
export interface OpenRunnerOptions {
  readonly home: string;
  readonly log: Log;
  /** Told what went wrong in the background. */
  readonly report: (error: unknown) => void;
  readonly flags: PolicyFileFlags;
  readonly settings: RunnerSettings;
  /** Sees every message between clients, Reins and agents. */
  readonly tap?: WireTap;
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
    const { home, log, report, flags, settings } = options;
    const { preloadStanding, ...rest } = settings;
    const opened = await OpenHosting.open(home, log, report, flags, options.tap);
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
