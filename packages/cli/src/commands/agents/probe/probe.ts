import { type AgentEntry, type Installed, type Probed, probeAgent } from "@reins/host";
import { CliError } from "../../../errors.ts";
import { homeFolder } from "../../../home.ts";
import { agentFault } from "../../../hosting/agent-error.ts";
import { HomeAgents } from "../../../hosting/home-agents.ts";
import { entryOf } from "../../../hosting/install-agent.ts";
import { print } from "../../../output.ts";
import { untilStopped } from "../../../serving/stop.ts";
import type { AgentsFlags } from "../flags.ts";
import { installedOf } from "../installed-of.ts";
import { describeProbed } from "./describe.ts";

/** The flags of `reins agents probe` as they were written. */
export interface ProbeFlags extends AgentsFlags {
  readonly fresh?: boolean;
}

const PATIENCE_MS = 60_000;

/** Asks an agent what it can do, and prints it. */
export async function probe(agent: string, flags: ProbeFlags): Promise<void> {
  const agents = await HomeAgents.open(homeFolder(flags.home, process.env));
  const entry = entryOf(agents, agent);
  if (entry.builtIn)
    throw new CliError(`The agent ${agent} is a part of Reins and cannot be probed apart from it.`, {
      next: "What it can do: reins run --help",
    });
  const installed = await installedOf(agents, entry);
  const known = flags.fresh ? undefined : await agents.probes.find(entry, installed.version);
  const probed = known ?? (await ask(agents, entry, installed));
  print(flags.json ? `${JSON.stringify(probed)}\n` : describeProbed(probed, entry.name));
}

async function ask(agents: HomeAgents, entry: AgentEntry, installed: Installed): Promise<Probed> {
  const { env: environment } = process;
  try {
    const probed = await untilStopped((stopped) => {
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(PATIENCE_MS)]);
      return probeAgent({ entry, installed, environment, now: () => new Date(), signal });
    });
    await agents.probes.keep(entry, probed);
    return probed;
  } catch (error) {
    throw agentFault(error, entry.id, entry);
  }
}
