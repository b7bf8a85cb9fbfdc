import { homedir } from "node:os";
import { Hosting } from "@reins/host";
import { readConfiguration } from "../configuration/configuration.ts";
import { OpenHarness } from "../harness/open-harness.ts";
import type { Log } from "../log/logger.ts";
import { installerFor } from "./installer.ts";

/** Agents and what decides about them, of one home, in this process. */
export class OpenHosting {
  readonly hosting: Hosting;
  readonly #opened: OpenHarness;

  private constructor(hosting: Hosting, opened: OpenHarness) {
    this.hosting = hosting;
    this.#opened = opened;
  }

  /** What decides. */
  get harness(): OpenHarness["harness"] {
    return this.#opened.harness;
  }

  /** Opens a home to run agents in it. */
  static async open(home: string, log: Log, report?: (error: unknown) => void): Promise<OpenHosting> {
    const onError =
      report ?? ((error: unknown) => log.error({ err: error }, "something went wrong in the background"));
    const { confine } = await readConfiguration(home);
    const opened = await OpenHarness.open(home, log, onError);
    try {
      const hosting = await Hosting.open({
        harness: opened.harness,
        install: installerFor(home, log),
        environment: process.env,
        userHome: homedir(),
        networkFor: (agent) => (confine[agent] ?? confine["*"])?.network,
        onError,
      });
      return new OpenHosting(hosting, opened);
    } catch (error) {
      await opened.close();
      throw error;
    }
  }

  /** Lets go of the home after an error, if that error is one after which nothing can be written any more. */
  async abandonAfter(error: unknown): Promise<boolean> {
    if (!(await this.#opened.abandonAfter(error))) return false;
    await this.hosting.close().catch(() => undefined);
    return true;
  }

  /** Ends the agents and lets go of the home. */
  async close(): Promise<void> {
    try {
      await this.hosting.close();
    } finally {
      await this.#opened.close();
    }
  }
}
