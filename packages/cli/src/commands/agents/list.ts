import type { AgentEntry, Installed } from "@reins/agents";
import { command } from "../../command.ts";
import { HomeAgents } from "../../hosting/home-agents.ts";
import { printableLine, screenWidth, table } from "../../printable.ts";
import { AGENT_CODES, AGENT_FLAGS } from "./home-agent.ts";

export const listCommand = command({
  summary: "list the agents with installs, verification and enforcement",
  description: "Lists the agents of the catalogue and of the home.",
  inputs: AGENT_FLAGS,
  note: `installed  version and source: lockfile (of the catalogue), asked for (another
           version), local (installed by other means), built in
verified   the result and time of reins agents verify; outdated if the agent
           changed since
level      how verdicts are enforced: performed, confined, asked or observed
unasked    what it does without asking`,
  examples: ["reins agents list", "reins agents list --json | jq -r '.agents[] | select(.version) | .agent'"],
  codes: AGENT_CODES,
  async run({ home }) {
    const agents = await HomeAgents.open(home);
    const found = await agents.installer.list();
    const listed = await Promise.all(
      found.map(({ entry, installed }) => listedAgent(agents, entry, installed)),
    );
    return { json: { agents: listed }, text: () => agentTable(listed) };
  },
});

function agentTable(listed: readonly ListedAgent[]): string {
  const rows = listed.map((one) => [
    printableLine(one.agent),
    one.support.level === "supported" ? "yes" : one.support.level,
    installedOf(one),
    verifiedOf(one),
    one.enforcement.level,
    printableLine(one.enforcement.unasked.join(", ")) || "-",
  ]);
  return table([["agent", "support", "installed", "verified", "level", "unasked"], ...rows], screenWidth());
}

function installedOf({ version, source, outdated }: ListedAgent): string {
  if (source === undefined) return "-";
  if (version === undefined || version === source) return source;
  return `${printableLine(version)}, ${source}${outdated ? ", newer in the catalogue" : ""}`;
}

function verifiedOf({ verification, source }: ListedAgent): string {
  const { state, level, live, at = "", why } = verification;
  if (source === "built in") return "needs none";
  if (state === "unverified") return "-";
  if (state === "outdated") return `outdated: ${why}`;
  return `${live ? "live" : "NOT LIVE"} (${level}), ${at.slice(0, 10)}`;
}

interface Verification {
  readonly state: "unverified" | "verified" | "outdated";
  readonly level?: string;
  readonly live?: boolean;
  readonly at?: string;
  readonly why?: string;
}

interface ListedAgent {
  readonly agent: string;
  readonly name: string;
  readonly support: AgentEntry["support"];
  /** Undefined when it is not installed. */
  readonly source: "lockfile" | "asked for" | "local" | "built in" | undefined;
  readonly version: string | undefined;
  /** Whether the catalogue has a newer version. */
  readonly outdated: boolean;
  readonly verification: Verification;
  readonly enforcement: { readonly level: string; readonly unasked: readonly string[] };
  readonly hostile: AgentEntry["hostile"] | undefined;
}

export async function listedAgent(
  agents: HomeAgents,
  entry: AgentEntry,
  installed: Installed | undefined,
): Promise<ListedAgent> {
  const { id, name, support, enforcement, hostile, builtIn } = entry;
  const confined = agents.isConfined(id);
  const level = builtIn ? "performed" : confined ? "confined" : enforcement.level;
  return {
    agent: id,
    name,
    support,
    source: builtIn ? "built in" : installed && sourceOf(installed),
    version: installed?.version,
    outdated: installed?.outdated ?? false,
    verification: installed ? await verificationOf(agents, entry, installed) : { state: "unverified" },
    enforcement: { level, unasked: enforcement.unasked },
    hostile,
  };
}

function sourceOf({ provenance }: Installed): ListedAgent["source"] {
  if (!provenance) return "local";
  return provenance.source === "lockfile" ? "lockfile" : "asked for";
}

async function verificationOf(
  agents: HomeAgents,
  entry: AgentEntry,
  installed: Installed,
): Promise<Verification> {
  const standing = await agents.stamps.standing({ entry, installed, confined: agents.isConfined(entry.id) });
  if (standing.state === "unverified") return { state: "unverified" };
  const { level, live, at } = standing.stamp;
  return {
    state: standing.state,
    level,
    live,
    at,
    ...(standing.state === "outdated" && { why: standing.why }),
  };
}
