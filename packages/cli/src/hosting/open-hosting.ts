import { homedir } from "node:os";
import { haakMessaging } from "@reins/haak";
import { Hosting, type WireTap } from "@reins/host";
import { OpenHarness, type OpenHarnessOptions } from "../harness/open-harness.ts";
import type { Log } from "../log.ts";
import { HomeAgents } from "./home-agents.ts";
import { installOnFirstUse } from "./install-agent.ts";

export interface OpenHostingOptions extends Omit<OpenHarnessOptions, "report"> {
  /** By default errors go to the log. */
  readonly report?: OpenHarnessOptions["report"];
  /** The folder of sessions that name none. */
  readonly workspace?: string | undefined;
  /** Sees every message between clients, Reins and agents. */
  readonly tap?: WireTap | undefined;
}

export class OpenHosting {
  readonly hosting: Hosting;
  readonly agents: HomeAgents;
  readonly #opened: OpenHarness;

  private constructor(hosting: Hosting, agents: HomeAgents, opened: OpenHarness) {
    this.hosting = hosting;
    this.agents = agents;
    this.#opened = opened;
  }

  get harness(): OpenHarness["harness"] {
    return this.#opened.harness;
  }

  static async open(options: OpenHostingOptions): Promise<OpenHosting> {
    const { home, log, tap, workspace } = options;
    const onError =
      options.report ?? ((error: unknown) => log.error({ err: error }, "a background task failed"));
    const agents = await HomeAgents.open(home);
    const opened = await OpenHarness.open({ ...options, report: onError });
    try {
      const hosting = await Hosting.open({
        harness: opened.harness,
        agents: agents.added,
        install: (entry) => installOnFirstUse(agents, entry, logReporter(log)),
        isInstalled: async ({ id }) => (await agents.installer.installed(id)) !== undefined,
        admit: (entry, installed) => agents.admit(entry, installed),
        environment: process.env,
        userHome: homedir(),
        networkFor: (agent) => agents.networkFor(agent),
        passFor: (agent) => agents.passFor(agent),
        messaging: haakMessaging(opened.harness),
        workspace,
        tenants: agents.tenants,
        native: agents.native,
        idleMs: agents.idleMs,
        cancelGraceMs: agents.cancelGraceMs,
        retentionMs: agents.retentionMs,
        killSocket: true,
        tap,
        onError,
      });
      return new OpenHosting(hosting, agents, opened);
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  /** Closes the home if the error made its store unusable. */
  async abandonAfter(error: unknown): Promise<boolean> {
    if (!(await this.#opened.abandonAfter(error))) return false;
    await this.hosting.close().catch(() => undefined);
    return true;
  }

  /** Ends the agents and closes the home. */
  async close(): Promise<void> {
    try {
      await this.hosting.close();
    } finally {
      await this.#opened.close();
    }
  }
}

function logReporter(log: Log) {
  const write = (text: string) => log.info(text.trim());
  return { notice: write, screen: { write: write } };
}
