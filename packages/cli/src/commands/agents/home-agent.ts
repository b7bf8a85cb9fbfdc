import type { AgentEntry, Installed } from "@reins/agents";
import type { Command } from "commander";
import { CliError, EXIT } from "../../errors.ts";
import type { HomeAgents } from "../../hosting/home-agents.ts";

export interface AgentsFlags {
  readonly home?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
}

export function agentsFlags(command: Command, json = "print the result as JSON"): Command {
  return command
    .option("--home <folder>", "the home folder (default: reins in\nthe user's data folder)")
    .option("--json", json);
}

export const AGENTS_CODES = {
  done: "done",
  failed: "failed; the message says why",
  usage: "wrong usage",
} as const;

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
