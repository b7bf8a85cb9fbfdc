import type { AgentEntry, Installed } from "@reins/agents";
import { command } from "../../command.ts";
import { EXIT } from "../../errors.ts";
import { openHome } from "../../home.ts";
import { agentError } from "../../hosting/agent-error.ts";
import type { HomeAgents } from "../../hosting/home-agents.ts";
import { InstallDisplay } from "../../hosting/install-agent.ts";
import { withStopSignal } from "../../serving/stop.ts";
import { AGENT, AGENT_FLAGS, openAgent } from "./home-agent.ts";
import { describeReport, verifyInstalled } from "./verify.ts";

export const installCommand = command({
  summary: "install an agent, and verify that it asks for permission",
  description: "Installs an agent into the home, then verifies that its gate is live.",
  inputs: {
    agent: AGENT,
    reinstall: ["--reinstall", "also when it is installed already"],
    agentVersion: ["--agent-version <version>", "another version of the agent itself"],
    agentProcessVersion: ["--agent-process-version <version>", "another version of the part that speaks ACP"],
    verify: ["--no-verify", "do not verify it"],
    ...AGENT_FLAGS,
  },
  note: `Installs into the home, in a folder per version, exactly what the lockfile of
the catalogue lists. Install scripts are not run. An installed agent is kept as
it is; an incomplete install is never used.`,
  examples: [
    "reins agents install claude",
    "reins agents install codex --reinstall",
    "reins agents install claude --agent-process-version 0.98.0 --no-verify",
  ],
  codes: {
    done: "installed, and its gate is live",
    failed: "not installed, or installed and its gate is not live",
    usage: "wrong usage",
  },
  async run({ agent, home, verify, reinstall, agentVersion, agentProcessVersion }, { notice }) {
    await openHome(home, notice);
    const { agents, entry } = await openAgent(home, agent);
    const options = { reinstall, agentVersion, agentProcessVersion };
    const installed = await withStopSignal((signal) => installShown(agents, entry, { ...options, signal }));
    const verified = verify && entry.endpoint ? await verifyInstalled(agents, entry, installed) : undefined;
    const { version, provenance, folder } = installed;
    const json = { agent, version, source: provenance?.source ?? "local", ...(verified && { verified }) };
    const then = verified
      ? `\n${describeReport(verified, entry.name)}`
      : `To verify that it asks for permission: reins agents verify ${agent}\n`;
    return {
      json,
      text: () => `${entry.name} ${version} is installed in ${folder}\n${then}`,
      exitCode: verified && !verified.live ? EXIT.failed : EXIT.done,
    };
  },
});

type InstallOptions = NonNullable<Parameters<HomeAgents["installer"]["install"]>[1]>;

/** Shows the progress on stderr. */
async function installShown(
  { installer }: HomeAgents,
  { id, name }: AgentEntry,
  options: InstallOptions,
): Promise<Installed> {
  const display = new InstallDisplay(process.stderr, name);
  try {
    return await installer.install(id, { ...options, onProgress: (progress) => display.update(progress) });
  } catch (error) {
    throw agentError(error, id);
  } finally {
    display.clear();
  }
}
