import { isObject, readResult } from "@reins/acp";
import { type AgentEntry, type Installed, type Probed, probeAgent } from "@reins/agents";
import { Redactor } from "@reins/supervisor";
import { command } from "../../command.ts";
import { CliError } from "../../errors.ts";
import { agentError } from "../../hosting/agent-error.ts";
import type { HomeAgents } from "../../hosting/home-agents.ts";
import { printableLine, table } from "../../printable.ts";
import { withStopSignal } from "../../serving/stop.ts";
import { formatTime } from "../../time.ts";
import { AGENT, AGENT_CODES, AGENT_FLAGS, openAgent, requireInstalled } from "./home-agent.ts";

const PATIENCE_MS = 60_000;

export const probeCommand = command({
  summary: "show the capabilities of an installed agent",
  description: "Starts an installed agent to read its capabilities.",
  inputs: { agent: AGENT, fresh: ["--fresh", "ignore the cached result"], ...AGENT_FLAGS },
  note: `The result is cached as long as version and settings are
the same.`,
  examples: [
    "reins agents probe claude",
    "reins agents probe codex --fresh --json | jq .initialized.agentCapabilities",
  ],
  codes: AGENT_CODES,
  async run({ agent, home, fresh }) {
    const { agents, entry } = await openAgent(home, agent);
    if (entry.builtIn)
      throw new CliError(`The agent ${agent} is part of Reins and cannot be probed separately.`, {
        next: "What it can do: reins run --help",
      });
    const installed = await requireInstalled(agents, entry);
    const known = fresh ? undefined : await agents.probes.find(entry, installed.version);
    const probed = known ?? (await ask(agents, entry, installed));
    return { json: probed, text: () => describeProbed(probed, entry.name) };
  },
});

async function ask(agents: HomeAgents, entry: AgentEntry, installed: Installed): Promise<Probed> {
  const { env: environment } = process;
  try {
    const probed = await withStopSignal((stopped) => {
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(PATIENCE_MS)]);
      const redactor = Redactor.create();
      return probeAgent({ entry, installed, environment, redactor, now: () => new Date(), signal });
    });
    await agents.probes.keep(entry, probed);
    return probed;
  } catch (error) {
    throw agentError(error, entry.id, entry);
  }
}

function describeProbed({ version, probedAt, initialized, session, refused }: Probed, name: string): string {
  const { agentCapabilities, protocolVersion } = initialized;
  const { authMethods } = readResult("initialize", initialized);
  const { modes, configOptions } = readResult("session/new", session);
  const rows = [
    ["protocol", String(protocolVersion ?? "-")],
    ["can", capabilities(agentCapabilities).join(", ") || "-"],
    ["modes", named(modes.availableModes, modes.currentModeId)],
    ["options", named(configOptions)],
    ["logins", named(authMethods)],
    ...(refused ? [["session", `refused: ${refused.message} (${refused.code})`]] : []),
  ];
  const lines = rows.map(([what = "", text = ""]) => [what, printableLine(text)]);
  return `${name} ${printableLine(version)}, asked ${formatTime(probedAt)}\n${table(lines)}`;
}

/** The capabilities that are set, as dotted paths. */
function capabilities(value: unknown, path = ""): string[] {
  return Object.entries(isObject(value) ? value : {}).flatMap(([key, inner]) => {
    const name = path === "" ? key : `${path}.${key}`;
    if (key === "_meta" || inner === false || inner === null) return [];
    const deeper = capabilities(inner, name);
    return deeper.length > 0 ? deeper : [name];
  });
}

function named(list: readonly { readonly id?: string | undefined }[], current?: string): string {
  const names = list.map(({ id }) => String(id));
  return names.map((name) => (name === current ? `${name} (now)` : name)).join(", ") || "-";
}
