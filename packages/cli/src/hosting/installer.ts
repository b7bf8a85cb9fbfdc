import { type AgentEntry, AgentError, type InstalledAgent } from "@reins/host";
import type { HomeAgents } from "./home-agents.ts";
import { InstallDisplay, type InstallScreen } from "./install-display.ts";

/** Who hears of an install. */
export interface InstallAudience {
  readonly notice: (text: string) => void;
  readonly screen: InstallScreen;
}

/** An install of an agent; one that is not there is made, with a word about it. */
export async function installOnFirstUse(
  { installer, requireInstalled }: Pick<HomeAgents, "installer" | "requireInstalled">,
  { id, name, install }: AgentEntry,
  { notice, screen }: InstallAudience,
): Promise<InstalledAgent> {
  const installed = await installer.installed(id);
  if (installed) return installed;
  if (requireInstalled && install)
    throw new AgentError(
      "agent_not_installed",
      `${name} is not installed, and require_installed in agents.yaml keeps it from being installed on first use; run reins agents install ${id}`,
    );
  const size = install?.megabytes === undefined ? "" : ` (about ${install.megabytes} MB)`;
  if (install) notice(`${name} is not installed yet; installing it, which happens once${size}`);
  const display = new InstallDisplay(screen, name);
  try {
    return await installer.install(id, { onProgress: (progress) => display.update(progress) });
  } finally {
    display.clear();
  }
}
