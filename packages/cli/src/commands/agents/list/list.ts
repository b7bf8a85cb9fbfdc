import { homeFolder } from "../../../home.ts";
import { HomeAgents } from "../../../hosting/home-agents.ts";
import { print } from "../../../output.ts";
import { printableLine, screenWidth, table } from "../../../printable.ts";
import type { AgentsFlags } from "../flags.ts";
import { type ListedAgent, listedAgent } from "./listed-agent.ts";

/** Lists the agents of a home. */
export async function list(flags: AgentsFlags): Promise<void> {
  const agents = await HomeAgents.open(homeFolder(flags.home, process.env));
  const found = await agents.installer.list();
  const listed = await Promise.all(
    found.map(({ entry, installed }) => listedAgent(agents, entry, installed)),
  );
  if (flags.json) return print(`${JSON.stringify({ agents: listed })}\n`);
  const rows = listed.map((one) => [
    printableLine(one.agent),
    supportOf(one),
    installedOf(one),
    verifiedOf(one),
    one.enforcement.level,
    printableLine(one.enforcement.unasked.join(", ")) || "-",
  ]);
  print(table([["agent", "support", "installed", "verified", "level", "unasked"], ...rows], screenWidth()));
}

function supportOf({ support }: ListedAgent): string {
  return support.level === "supported" ? "yes" : support.level;
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
