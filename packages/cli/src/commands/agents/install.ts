import { type Installed, type InstallOptions, type InstallProgress, MODEL_API_NAMES } from "@reins/agents";
import { command } from "../../command.ts";
import { EXIT } from "../../errors.ts";
import { openHome } from "../../home.ts";
import { agentError } from "../../hosting/agent-error.ts";
import { installGoverned } from "../../hosting/governed-install.ts";
import { HomeAgents } from "../../hosting/home-agents.ts";
import { catalogueEntry, InstallDisplay } from "../../hosting/install-agent.ts";
import { printableLine } from "../../printable.ts";
import { withStopSignal } from "../../serving/stop.ts";
import { AGENT, AGENT_FLAGS, openAgent, requireInstalled } from "./home-agent.ts";
import { describeReport, verifyInstalled } from "./verify.ts";

export const installCommand = command({
  summary: "install an agent, and verify that it asks for permission",
  description: "Installs an agent into the home, then verifies that its gate is live.",
  inputs: {
    agent: AGENT,
    reinstall: ["--reinstall", "also when it is installed already"],
    modelApi: [
      "--model-api <api>",
      "how an agent of the registry asks its model,\nso that it can be verified",
      { choices: MODEL_API_NAMES },
    ],
    agentVersion: ["--agent-version <version>", "another version of the agent itself"],
    agentProcessVersion: ["--agent-process-version <version>", "another version of the part that speaks ACP"],
    verify: ["--no-verify", "do not verify it"],
    ...AGENT_FLAGS,
  },
  note: `Installs into the home, in a folder per version: the version that the ACP
registry names, or where that is not known, the one that the catalogue pins.
What comes in is checked by its hashes, and refused if it is not what it was at
the first install of the same version. Install scripts are not run. An
installed agent is kept as it is (see reins agents update); an incomplete
install is never used. Rules decide on it as agents/install; a Reins that runs
on the home installs it, else this command.`,
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
  async run(given, { notice }) {
    const { agent, home, verify, reinstall, agentVersion, agentProcessVersion } = given;
    await openHome(home, notice);
    const modelApi = MODEL_API_NAMES.find((name) => name === given.modelApi);
    const options = { reinstall, modelApi, agentVersion, agentProcessVersion };
    return installAndVerify(await HomeAgents.open(home), agent, { home, verify, options });
  },
});

export const updateCommand = command({
  summary: "install the version that is offered in place of an agent's, and verify it",
  description: "Updates an agent to the version that the registry or the catalogue has.",
  inputs: { agent: AGENT, verify: ["--no-verify", "do not verify it"], ...AGENT_FLAGS },
  note: `Nothing is updated by itself: reins agents list shows what is offered. The new
version counts as observed until it is verified. An older version is refused.`,
  examples: ["reins agents update claude"],
  codes: {
    done: "up to date, and its gate is live",
    failed: "not updated, or its gate is not live",
    usage: "wrong usage",
  },
  async run({ agent, home, verify }) {
    const { agents, entry } = await openAgent(home, agent);
    const installed = await requireInstalled(agents, entry);
    const registry = await agents.installer.registry({ refresh: true });
    if (agents.installer.updateOf(entry, installed, registry) === undefined) {
      const text = `${entry.name} ${installed.version} is the newest that is known.\n`;
      return { json: { agent, version: installed.version, updated: false }, text: () => text };
    }
    return installAndVerify(agents, agent, { home, verify, options: { update: true } });
  },
});

interface InstallRun {
  readonly home: string;
  readonly verify: boolean;
  readonly options: InstallOptions;
}

async function installAndVerify(agents: HomeAgents, agent: string, { home, verify, options }: InstallRun) {
  const installed = await withStopSignal((signal) =>
    installShown(home, agents, agent, { ...options, signal }),
  );
  const entry = catalogueEntry(agents, agent);
  const verified = verify && entry.endpoint ? await verifyInstalled(agents, entry, installed) : undefined;
  const { version, provenance, folder } = installed;
  const source = provenance?.source ?? "local";
  const origin = provenance?.registry ? "registry" : provenance ? "fallback" : "local_path";
  const level = await agents.levelOf(entry, installed);
  const json = { agent, version, source, provenance: origin, level, ...(verified && { verified }) };
  const known = origin === "registry" ? `, from the registry ${provenance?.registry?.url}` : "";
  const then = verified
    ? `\n${describeReport(verified, entry.name)}`
    : `To verify that it asks for permission: reins agents verify ${agent}\n`;
  return {
    json,
    text: () => `${entry.name} ${printableLine(version)} is installed in ${folder}${known}\n${then}`,
    exitCode: verified && !verified.live ? EXIT.failed : EXIT.done,
  };
}

/** Shows the progress on stderr. */
async function installShown(
  home: string,
  agents: HomeAgents,
  id: string,
  options: InstallOptions,
): Promise<Installed> {
  const display = new InstallDisplay(process.stderr, agents.catalogue.find(id)?.name ?? id);
  try {
    const onProgress = (progress: InstallProgress) => display.update(progress);
    return await installGoverned(home, agents, id, { ...options, onProgress });
  } catch (error) {
    throw agentError(error, id);
  } finally {
    display.clear();
  }
}
