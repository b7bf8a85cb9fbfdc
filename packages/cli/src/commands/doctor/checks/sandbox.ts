import { detectSandbox } from "@reins/host";
import { HomeAgents } from "../../../hosting/home-agents.ts";
import { type Check, fine, note, wrong } from "../finding.ts";

/** Whether agents can be confined, and are. */
export const sandboxCheck: Check = {
  name: "sandbox",
  look: async ({ home }) => {
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
  },
};

/** Whether an agent could reach what decides about it. */
export const reachCheck: Check = {
  name: "reach",
  look: async ({ home }) => {
    const agents = await HomeAgents.open(home);
    const free = agents.catalogue.entries.filter(({ id, builtIn }) => !builtIn && !agents.isConfined(id));
    if (free.length === 0) return [fine("every agent is kept away from the home of Reins")];
    return [
      note(
        `agents that are not confined run as this user, and could reach ${home} without asking`,
        'Confine them: in reins.yaml, confine: { "*": { network: open } }. It takes a sandbox.',
      ),
    ];
  },
};

async function confinedIn(home: string): Promise<string[]> {
  const agents = await HomeAgents.open(home);
  return agents.catalogue.entries.flatMap(({ id }) => (agents.isConfined(id) ? [id] : []));
}
