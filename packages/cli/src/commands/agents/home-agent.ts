import type { AgentEntry, Installed } from "@reins/agents";
import { homeInput } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { HomeAgents } from "../../hosting/home-agents.ts";
import { catalogueEntry } from "../../hosting/install-agent.ts";

export const AGENT = ["<agent>", "the agent; see reins agents list"] as const;

export const AGENT_FLAGS = {
  home: homeInput("the home folder (default: reins in\nthe user's data folder)"),
  json: ["--json", "print the result as JSON"],
} as const;

export const SHA256 = [
  "--sha256 <hex>",
  "what the archive of an agent of the registry\nhas to have, as its makers publish it",
  { read: readSha256 },
] as const;

export const AGENT_CODES = {
  done: "done",
  failed: "failed; the message says why",
  usage: "wrong usage",
} as const;

function readSha256(digest: string): string {
  if (/^[0-9a-f]{64}$/i.test(digest)) return digest;
  throw new CliError(`"${digest}" is no SHA-256.`, { next: "Give its 64 hexadecimal digits." });
}

export async function openAgent(
  home: string,
  agent: string,
): Promise<{ agents: HomeAgents; entry: AgentEntry }> {
  const agents = await HomeAgents.open(home);
  return { agents, entry: catalogueEntry(agents, agent) };
}

export async function requireInstalled(
  { installer }: HomeAgents,
  { id, name }: AgentEntry,
): Promise<Installed> {
  const installed = await installer.installed(id);
  if (installed) return installed;
  throw new CliError(`${name} is not installed.`, {
    next: `To install it: reins agents install ${id}`,
    exitCode: EXIT.failed,
  });
}
