import { findNpm, hookAgents, hookState } from "@reins/agents";
import { detectSandbox } from "@reins/runner";
import { foundCredentials } from "@reins/server";
import { HomeAgents } from "../../hosting/home-agents.ts";
import { listedAgent } from "../agents/list.ts";
import { type Check, type Finding, fine, note, wrong } from "./doctor.ts";

export const agentsCheck: Check = async ({ home, environment }) => {
  const agents = await HomeAgents.open(home);
  const listed = await agents.installer.list();
  const installed = await Promise.all(
    listed.map(({ entry, installed }) => (installed ? listedAgent(agents, entry, installed) : undefined)),
  );
  const found = installed.flatMap((agent) => agent ?? []);
  return [
    ...npmFinding(environment),
    ...(found.length === 0
      ? [note("only the built-in one is installed", "To install one: reins agents install claude")]
      : found.map(agentFinding)),
  ];
};

/** The hooks of agents in terminals, as far as any are installed. */
export const hooksCheck: Check = async ({ home, environment, userHome }) => {
  const all = await Promise.all(
    hookAgents().map(async (agent) => {
      const { installed, path } = await hookState({ agent, home, environment, userHome });
      if (installed === "no") return [];
      if (installed === "yes") return [fine(`${agent.id} asks by the hooks in ${path}`)];
      return [wrong(`the hooks of ${agent.id} in ${path} are not whole`, `reins hooks install ${agent.id}`)];
    }),
  );
  return all.flat();
};

function npmFinding(environment: NodeJS.ProcessEnv): Finding[] {
  if (findNpm(environment)) return [];
  return [wrong("npm is not installed, so no agent can be installed", "Install Node with npm.")];
}

function agentFinding({
  agent,
  version,
  outdated,
  verification,
}: Awaited<ReturnType<typeof listedAgent>>): Finding {
  const name = `${agent} ${version ?? ""}`.trim();
  const { state, live, why, level } = verification;
  if (state === "verified" && live === false)
    return wrong(
      `${name} does not obey verdicts (${level})`,
      `Confine it, or do not use it; see reins agents verify ${agent}`,
    );
  if (state !== "verified")
    return note(
      `${name} was ${state === "outdated" ? `verified before ${why ?? "it changed"}` : "never verified"}`,
      `Verify that it asks for permission: reins agents verify ${agent}`,
    );
  return outdated
    ? note(`${name} is older than the catalogue's`, `reins agents install ${agent}`)
    : fine(`${name} was verified to ask before it acts (${level})`);
}

export const credentialsCheck: Check = async ({ home, environment, userHome }) => {
  const agents = await HomeAgents.open(home);
  const all = await Promise.all(
    agents.catalogue.entries.map(async (entry) => {
      const { found } = await foundCredentials(entry, environment, userHome);
      return found.length === 0 ? [] : [fine(`${entry.id}: ${found.join(", ")}`)];
    }),
  );
  const found = all.flat();
  if (found.length > 0) return found;
  return [
    note(
      "none were found, so third-party agents cannot reach a model",
      "Log in with the agent's own program, or set a variable such as ANTHROPIC_API_KEY. The built-in agent can be tried without.",
    ),
  ];
};

export const sandboxCheck: Check = async ({ home }) => {
  const [status, confined] = await Promise.all([detectSandbox(), confinedIn(home)]);
  if (status.available)
    return [
      fine(
        `bubblewrap ${status.version} works${confined.length > 0 ? `; confined: ${confined.join(", ")}` : ""}`,
      ),
    ];
  return confined.length > 0
    ? [wrong(`${confined.join(", ")} cannot start: ${status.reason}`, status.remedy)]
    : [note(`agents cannot be confined: ${status.reason}`, status.remedy)];
};

export const reachCheck: Check = async ({ home }) => {
  const agents = await HomeAgents.open(home);
  const free = agents.catalogue.entries.filter(({ id, builtIn }) => !builtIn && !agents.isConfined(id));
  if (free.length === 0) return [fine("no agent can reach the home of Reins")];
  return [
    note(
      `agents that are not confined run as this user, and could reach ${home} without asking`,
      'Confine them: in reins.yaml, confine: { "*": { network: open } }. It needs a sandbox.',
    ),
  ];
};

async function confinedIn(home: string): Promise<string[]> {
  const agents = await HomeAgents.open(home);
  return agents.catalogue.entries.flatMap(({ id }) => (agents.isConfined(id) ? [id] : []));
}
