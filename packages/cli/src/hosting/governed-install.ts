import { RpcError } from "@reins/acp";
import {
  AgentError,
  type Installed,
  type Installer,
  type InstallOptions,
  type PlannedInstall,
} from "@reins/agents";
import { agentsOperations } from "@reins/api";
import { agentInstall, agentRemoval, type CallerChange, REFUSED } from "@reins/host";
import { ApiClient } from "../client/api-client.ts";
import { CliError, EXIT } from "../errors.ts";
import { operatorSocketIn } from "../home.ts";
import { type Log, logLevel, openLog } from "../log.ts";
import { noticeOnStderr } from "../output.ts";
import { isServed } from "../serving/listen.ts";
import type { HomeAgents } from "./home-agents.ts";

/** Installs what a verdict by `govern` was about, and nothing else. What is installed and stays needs none. */
export async function installDecided(
  installer: Installer,
  agent: string,
  options: InstallOptions,
  govern: (planned: PlannedInstall, run: () => Promise<Installed>) => Promise<Installed>,
): Promise<Installed> {
  const planned = (await installer.check(agent, options)) ?? null;
  const run = () => installer.install(agent, { ...options, planned });
  return planned ? govern(planned, run) : run();
}

/**
 * Installs an agent for a terminal, after a verdict: by the Reins that runs on the home, else by this process, which
 * opens the home for that time.
 */
export async function installGoverned(
  home: string,
  { installer }: Pick<HomeAgents, "installer">,
  agent: string,
  options: InstallOptions,
): Promise<Installed> {
  return installDecided(installer, agent, options, async (planned, run) => {
    if (!(await isServed(operatorSocketIn(home))))
      return governHere(home, agentInstall(planned), run, options.signal);
    await installByServer(home, agent, options);
    const installed = await installer.installed(agent);
    if (installed) return installed;
    throw new AgentError("install_failed", `${agent} was installed and is not there.`);
  });
}

/** Changes what agents.yaml adds, after a verdict. Needs that no Reins runs on the home. */
export async function changeAdded<Value>(
  home: string,
  change: CallerChange,
  run: () => Promise<Value>,
): Promise<Value> {
  if (await isServed(operatorSocketIn(home)))
    throw new CliError("A Reins runs on this home, and reads agents.yaml when it starts.", {
      next: "Stop it, run the same command again, then start it.",
      exitCode: EXIT.taken,
    });
  return governHere(home, change, run);
}

/** Removes an agent's installs for a terminal, after a verdict; returns whether there were any. */
export async function removeGoverned(
  home: string,
  { installer }: Pick<HomeAgents, "installer">,
  agent: string,
): Promise<boolean> {
  if (!(await isServed(operatorSocketIn(home))))
    return governHere(home, agentRemoval(agent), () => installer.remove(agent));
  const { removeInstall } = agentsOperations;
  const events = ApiClient.over(operatorSocketIn(home)).progress(removeInstall, { params: { agent } });
  for await (const event of events) {
    if (event.phase === "removed") return event.removed;
    if (event.phase === "failed") throw failure(event.code, event.message);
    noticeAsked(event.approval);
  }
  throw new AgentError("cancelled", `The removal of ${agent} goes on in the Reins that runs on the home.`);
}

async function governHere<Value>(
  home: string,
  change: CallerChange,
  run: () => Promise<Value>,
  signal: AbortSignal = new AbortController().signal,
): Promise<Value> {
  const log: Log = await openLog(process.stderr, logLevel(undefined, { REINS_LOG: "error", ...process.env }));
  const { openHeldHome } = await import("./agent-channel.ts");
  const { hosting, harness, close } = await openHeldHome(home, log);
  try {
    const waiting = { signal, onAsk: noticeAsked };
    return await hosting.governChange(harness.identity.local(), change, run, waiting);
  } finally {
    await close();
  }
}

function noticeAsked(approval: string): void {
  noticeOnStderr(false)(`this waits for an approval: reins approvals show ${approval}`);
}

async function installByServer(home: string, agent: string, options: InstallOptions): Promise<void> {
  const { reinstall, update, modelApi, sha256, agentVersion, agentProcessVersion } = options;
  const { onProgress, signal } = options;
  const events = ApiClient.over(operatorSocketIn(home)).progress(agentsOperations.installAgent, {
    params: { agent },
    body: {
      ...{ reinstall, update, sha256, model_api: modelApi },
      ...{ agent_version: agentVersion, agent_process_version: agentProcessVersion },
    },
    signal,
  });
  for await (const event of events) {
    if (event.phase === "installed")
      return onProgress?.({ phase: "installed", version: event.install.version });
    if (event.phase === "failed") throw failure(event.code, event.message);
    if (event.phase === "asked") noticeAsked(event.approval);
    else if (event.phase === "verifying") onProgress?.({ phase: "verifying" });
    else onProgress?.(event);
  }
  throw new AgentError("cancelled", `The install of ${agent} goes on in the Reins that runs on the home.`);
}

function failure(code: string, message: string): Error {
  return code === String(REFUSED)
    ? new RpcError(REFUSED, message)
    : new AgentError("install_failed", message);
}
