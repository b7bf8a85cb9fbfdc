import type { AgentEntry, Installed } from "@reins/agents";
import type { Command } from "commander";
import { EXIT, type ExitCode, helpText } from "../../errors.ts";
import { homeFolder, openHome } from "../../home.ts";
import { agentError } from "../../hosting/agent-error.ts";
import { HomeAgents } from "../../hosting/home-agents.ts";
import { catalogueEntry, InstallDisplay } from "../../hosting/install-agent.ts";
import { noticeOnStderr, print } from "../../output.ts";
import type { Invocation } from "../../program.ts";
import { withStopSignal } from "../../serving/stop.ts";
import { type AgentsFlags, agentsFlags } from "./home-agent.ts";
import { describeReport, verifyInstalled } from "./verify.ts";

const HELP = `
Installs into the home, in a folder per version, exactly what the lockfile of
the catalogue lists. Install scripts are not run. An installed agent is kept as
it is; an incomplete install is never used.

Examples:
  reins agents install claude
  reins agents install codex --reinstall
  reins agents install claude --agent-process-version 0.98.0 --no-verify`;

export function declareInstall(agents: Command, invocation: Invocation): void {
  agentsFlags(
    agents
      .command("install")
      .summary("install an agent, and verify that it asks for permission")
      .description("Installs an agent into the home, then verifies that its gate is live.")
      .argument("<agent>", "the agent; see reins agents list")
      .option("--reinstall", "also when it is installed already")
      .option("--agent-version <version>", "another version of the agent itself")
      .option("--agent-process-version <version>", "another version of the part that speaks ACP")
      .option("--no-verify", "do not verify it"),
  )
    .addHelpText(
      "after",
      helpText(HELP, {
        done: "installed, and its gate is live",
        failed: "not installed, or installed and its gate is not live",
        usage: "wrong usage",
      }),
    )
    .action(async (agent: string, _, command: Command) => {
      invocation.exitCode = await install(agent, command.optsWithGlobals<InstallFlags>());
    });
}

interface InstallFlags extends AgentsFlags {
  readonly reinstall?: boolean;
  readonly agentVersion?: string;
  readonly agentProcessVersion?: string;
  readonly verify: boolean;
}

async function install(agent: string, flags: InstallFlags): Promise<ExitCode> {
  const home = homeFolder(flags.home, process.env);
  await openHome(home, noticeOnStderr(flags.json));
  const agents = await HomeAgents.open(home);
  const entry = catalogueEntry(agents, agent);
  const installed = await withStopSignal((signal) => installShown(agents, entry, { ...flags, signal }));
  const verified =
    flags.verify && entry.endpoint ? await verifyInstalled(agents, entry, installed) : undefined;
  const { version, provenance } = installed;
  if (flags.json)
    print(
      `${JSON.stringify({ agent, version, source: provenance?.source ?? "local", ...(verified && { verified }) })}\n`,
    );
  else {
    print(`${entry.name} ${version} is installed in ${installed.folder}\n`);
    if (verified) print(`\n${describeReport(verified, entry.name)}`);
    else print(`To verify that it asks for permission: reins agents verify ${agent}\n`);
  }
  return verified && !verified.live ? EXIT.failed : EXIT.done;
}

/** Shows the progress on stderr. */
async function installShown(
  { installer }: HomeAgents,
  { id, name }: AgentEntry,
  flags: InstallFlags & { readonly signal: AbortSignal },
): Promise<Installed> {
  const { reinstall, agentVersion, agentProcessVersion, signal } = flags;
  const display = new InstallDisplay(process.stderr, name);
  try {
    return await installer.install(id, {
      reinstall,
      agentVersion,
      agentProcessVersion,
      signal,
      onProgress: (progress) => display.update(progress),
    });
  } catch (error) {
    throw agentError(error, id);
  } finally {
    display.clear();
  }
}
