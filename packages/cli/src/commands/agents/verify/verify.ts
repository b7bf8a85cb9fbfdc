import { EXIT, type ExitCode } from "../../../errors.ts";
import { homeFolder } from "../../../home.ts";
import { HomeAgents } from "../../../hosting/home-agents.ts";
import { entryOf } from "../../../hosting/install-agent.ts";
import { print } from "../../../output.ts";
import type { AgentsFlags } from "../flags.ts";
import { installedOf } from "../installed-of.ts";
import { describeReport } from "./describe.ts";
import { verifyInstalled } from "./verify-installed.ts";

/** Verifies an agent and prints what was found; the exit code. */
export async function verify(agent: string, flags: AgentsFlags): Promise<ExitCode> {
  const agents = await HomeAgents.open(homeFolder(flags.home, process.env));
  const entry = entryOf(agents, agent);
  if (entry.builtIn) {
    const message = `The agent ${agent} is a part of Reins, which carries out itself whatever it does.`;
    print(flags.json ? `${JSON.stringify({ agent, level: "performed", live: true })}\n` : `${message}\n`);
    return EXIT.done;
  }
  const report = await verifyInstalled(agents, entry, await installedOf(agents, entry));
  print(flags.json ? `${JSON.stringify(report)}\n` : describeReport(report, entry.name));
  return report.live ? EXIT.done : EXIT.failed;
}
