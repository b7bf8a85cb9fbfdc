import { type AgentEntry, type Installed, type RegistryState, whyPinned } from "@reins/agents";
import { command } from "../../command.ts";
import { AGENT, AGENT_CODES, AGENT_FLAGS, HomeAgents } from "../../hosting/home-agents.ts";
import { catalogueEntry } from "../../hosting/install-agent.ts";
import { printableLine, screenWidth, table } from "../../output.ts";
import { formatTime } from "../../time.ts";

export const listCommand = command({
  summary: "list the agents with installs, verification and enforcement",
  description: "Lists the agents of the catalogue, of the home and of the ACP registry.",
  inputs: { refresh: ["--refresh", "ask the registry, also if it was asked lately"], ...AGENT_FLAGS },
  note: `installed  version and source: lockfile (of the catalogue), registry (the
           version that the registry names), asked for (another version), local
           (installed by other means), built in; and the version that is offered
verified   the result and time of reins agents verify; outdated if the agent
           changed since
level      how verdicts are enforced: performed, confined, asked or observed
unasked    what it does without asking`,
  examples: ["reins agents list", "reins agents list --json | jq -r '.agents[] | select(.version) | .agent'"],
  codes: AGENT_CODES,
  async run({ home, refresh }) {
    const agents = await HomeAgents.open(home);
    const state = await agents.registry.read({ refresh });
    const found = await agents.installer.list();
    const listed = await Promise.all(
      found.map(({ entry, installed }) => listedAgent(agents, entry, installed, state)),
    );
    const registry = listedRegistry(agents, state);
    return { json: { agents: listed, registry }, text: () => agentTable(listed) + registryText(registry) };
  },
});

export const showCommand = command({
  summary: "show one agent: what is installed, offered and verified",
  description: "Shows what is known of an agent of the catalogue, the home or the ACP registry.",
  inputs: { agent: AGENT, ...AGENT_FLAGS },
  examples: ["reins agents show claude", "reins agents show codex --json | jq .provenance"],
  codes: AGENT_CODES,
  async run({ agent, home }) {
    const agents = await HomeAgents.open(home);
    const state = await agents.registry.read();
    const offered = agents.installer.offered(state).find(({ id }) => id === agent);
    if (offered) {
      const { id, name, version, description, distributions } = offered;
      const kinds = distributions.map(({ kind }) => kind);
      const json = { agent: id, name, version, description, distributions: kinds, installed: false };
      const text = `${printableLine(name)} ${version}, offered by the registry (${kinds.join(", ") || "not for this platform"})\n${printableLine(description)}\nTo install it: reins agents install ${id}\n`;
      return { json, text: () => text };
    }
    const entry = catalogueEntry(agents, agent);
    const installed = await agents.installer.installed(agent);
    const listed = await listedAgent(agents, entry, installed, state);
    const { provenance } = installed ?? {};
    const pinned = whyPinned(entry, state);
    const json = {
      ...listed,
      ...(pinned !== undefined && entry.install && { non_registry: pinned }),
      ...(provenance && { provenance: { ...provenance, entry: undefined } }),
    };
    const rows = [
      ["name", printableLine(entry.name)],
      ["support", entry.support.level],
      ["installed", installedOf(listed)],
      ...(provenance?.registry ? [["registry", provenance.registry.url]] : []),
      ...(pinned !== undefined && entry.install ? [["pinned, as", pinned]] : []),
      ...(provenance?.artifact
        ? [["archive", `${provenance.artifact.url} sha256 ${provenance.artifact.sha256}`]]
        : []),
      ["verified", verifiedOf(listed)],
      ["level", listed.enforcement.level],
    ];
    return { json, text: () => table(rows) };
  },
});

type ListedRegistry = ReturnType<typeof listedRegistry>;

function listedRegistry({ installer }: HomeAgents, state: RegistryState) {
  const offered = installer.offered(state).map(({ id, name, version }) => ({ id, name, version }));
  const { refused, url, fault } = state;
  return {
    ...{ state: state.state, url, fault, offered, refused },
    confirmed_at: state.confirmedAt?.toISOString(),
  };
}

function registryText({ state, url, confirmed_at, fault, offered, refused }: ListedRegistry): string {
  if (state === "off") return "";
  const asked = confirmed_at === undefined ? "never read" : `read ${formatTime(confirmed_at)}`;
  const why = fault === undefined ? "" : `; ${printableLine(fault)}`;
  const lines = [
    `registry ${url}: ${state}, ${asked}${why}`,
    ...(offered.length > 0
      ? [`it also offers: ${printableLine(offered.map(({ id, version }) => `${id} ${version}`).join(", "))}`]
      : []),
    ...refused.map(({ id, reason }) => `refused: ${printableLine(`${id}: ${reason}`)}`),
  ];
  return `\n${lines.join("\n")}\n`;
}

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

function installedOf({ version, source, outdated, update }: ListedAgent): string {
  if (source === undefined) return "-";
  if (version === undefined || version === source) return source;
  const newer = update === undefined ? (outdated ? ", newer in the catalogue" : "") : `, ${update} offered`;
  return printableLine(`${version}, ${source}${newer}`);
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
  readonly source: "lockfile" | "registry" | "asked for" | "local" | "built in" | undefined;
  readonly version: string | undefined;
  /** Whether the catalogue has a newer version. */
  readonly outdated: boolean;
  /** The version that an update would install. */
  readonly update: string | undefined;
  readonly verification: Verification;
  readonly enforcement: { readonly level: string; readonly unasked: readonly string[] };
  readonly hostile: AgentEntry["hostile"] | undefined;
}

export async function listedAgent(
  agents: HomeAgents,
  entry: AgentEntry,
  installed: Installed | undefined,
  registry?: RegistryState,
): Promise<ListedAgent> {
  const { id, name, support, enforcement, hostile, builtIn } = entry;
  const confined = agents.isConfined(id);
  const shown = installed && !builtIn ? await agents.levelOf(entry, installed) : enforcement.level;
  const level = builtIn ? "performed" : confined ? "confined" : shown;
  return {
    agent: id,
    name,
    support,
    source: builtIn ? "built in" : installed && sourceOf(installed),
    version: installed?.version,
    outdated: installed?.outdated ?? false,
    update: agents.installer.updateOf(entry, installed, registry),
    verification: installed ? await verificationOf(agents, entry, installed) : { state: "unverified" },
    enforcement: { level, unasked: enforcement.unasked },
    hostile,
  };
}

function sourceOf({ provenance }: Installed): ListedAgent["source"] {
  if (!provenance) return "local";
  return provenance.source === "override" ? "asked for" : provenance.source;
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
