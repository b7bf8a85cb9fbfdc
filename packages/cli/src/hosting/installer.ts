import type { AgentEntry, InstalledAgent } from "@reins/host";
import { CliError } from "../errors/cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import type { Log } from "../log/logger.ts";

/** Finds an install of an agent in a home; one that needs none is used as it is. */
export function installerFor(home: string, _log: Log): (entry: AgentEntry) => Promise<InstalledAgent> {
  return async (entry) => {
    if (!entry.install) return { version: "as it is", folder: home };
    throw new CliError(`${entry.name} is not installed.`, {
      next: `Install it first: reins agents install ${entry.id}`,
      exitCode: EXIT.failed,
    });
  };
}
