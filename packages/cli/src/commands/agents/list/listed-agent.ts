import type { AgentEntry, Installed } from "@reins/host";
import type { HomeAgents } from "../../../hosting/home-agents.ts";

/** What is known of an agent's verification. */
interface Verification {
  readonly state: "unverified" | "verified" | "outdated";
  readonly level?: string;
  readonly live?: boolean;
  readonly at?: string;
  /** Why it is outdated. */
  readonly why?: string;
}

/** An agent as it is listed. */
export interface ListedAgent {
  readonly agent: string;
  readonly name: string;
  readonly support: AgentEntry["support"];
  /** Where it comes from; nothing when it is not installed. */
  readonly source: "lockfile" | "asked for" | "local" | "built in" | undefined;
  readonly version: string | undefined;
  /** Whether the catalogue has moved on since it was installed. */
  readonly outdated: boolean;
  readonly verification: Verification;
  readonly enforcement: { readonly level: string; readonly unasked: readonly string[] };
  /** What is known of it in hostile repositories. */
  readonly hostile: AgentEntry["hostile"] | undefined;
}

/** Everything about an agent that a list shows. */
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
