import type { AgentEntry, Installed } from "@reins/host";
import { EXIT, type ExitCode } from "../../../errors.ts";
import { homeFolder, openHome } from "../../../home.ts";
import { agentFault } from "../../../hosting/agent-error.ts";
import { HomeAgents } from "../../../hosting/home-agents.ts";
import { entryOf, InstallDisplay } from "../../../hosting/install-agent.ts";
import { noticeOnStderr, print } from "../../../output.ts";
import { untilStopped } from "../../../serving/stop.ts";
import type { AgentsFlags } from "../flags.ts";
import { describeReport } from "../verify/describe.ts";
import { verifyInstalled } from "../verify/verify-installed.ts";

/** The flags of `reins agents install` as they were written. */
export interface InstallFlags extends AgentsFlags {
  readonly reinstall?: boolean;
  readonly agentVersion?: string;
  readonly agentProcessVersion?: string;
  readonly verify: boolean;
}

/** Installs an agent and verifies it; the exit code. */
export async function install(agent: string, flags: InstallFlags): Promise<ExitCode> {
  const home = homeFolder(flags.home, process.env);
  await openHome(home, noticeOnStderr(flags.json));
  const agents = await HomeAgents.open(home);
  const entry = entryOf(agents, agent);
  const installed = await untilStopped((signal) => installShown(agents, entry, { ...flags, signal }));
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
    else print(`To verify that it asks: reins agents verify ${agent}\n`);
  }
  return verified && !verified.live ? EXIT.failed : EXIT.done;
}

/** Installs an agent; how far that is goes to stderr. */
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
    throw agentFault(error, id);
  } finally {
    display.clear();
  }
}
