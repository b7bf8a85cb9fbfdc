import type { AgentEntry, Installed } from "@reins/host";
import { CliError, EXIT } from "../../errors.ts";
import type { HomeAgents } from "../../hosting/home-agents.ts";

/** The install of an agent that has to be there. */
export async function installedOf({ installer }: HomeAgents, { id, name }: AgentEntry): Promise<Installed> {
  const installed = await installer.installed(id);
  if (installed) return installed;
  throw new CliError(`${name} is not installed.`, {
    next: `To install it: reins agents install ${id}`,
    exitCode: EXIT.failed,
  });
}
