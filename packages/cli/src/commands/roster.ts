import { type RosterAgent, rosterOperations } from "@reins/api";
import { operationCommand } from "../client/operation-command.ts";
import { group } from "../command.ts";
import { printableLine, screenWidth, table } from "../output.ts";

const STATES = ["live", "idle", "dead"] as const;
const ADVICE = {
  not_found: "To see the known agents: reins roster list. To add an agent: reins roster add <agent>",
  conflict:
    "To see the known agents: reins roster list. To change one: reins roster set-state <agent> <state>",
} as const;

const DESCRIPTION =
  "The known agents, from agent-roster.jsonl. An agent that is not on the roster, or is dead, is unknown; any other is " +
  "registered; a live role is standing. Rules can depend on that.";

export const rosterCommand = group(DESCRIPTION, {
  list: operationCommand({
    operation: rosterOperations.getRoster,
    summary: "list the known agents",
    description: "Lists the agents on the roster with their trust and mandate.",
    output: ({ agents, faults }) => ({
      text: () => rosterTable(agents),
      notices: faults.map((line) => `agent-roster.jsonl: ${printableLine(line)}`),
    }),
    examples: ["reins roster list", `reins roster list --json | jq -r '.agents[] | .agent + " " + .trust'`],
  }),
  add: operationCommand({
    operation: rosterOperations.addAgent,
    summary: "put an agent on the roster",
    description: "Puts an agent on the roster, under the id that it uses itself.",
    inputs: {
      session_id: ["<agent>", "the agent's id"],
      kind: [
        "--kind <kind>",
        "a live role is trusted more",
        { choices: ["agent", "role"], default: ["agent"] },
      ],
      state: ["--state <state>", "a dead agent counts as unknown", { choices: STATES, default: ["live"] }],
      mandate: ["--mandate <file>", "its mandate: a file below the home, such as mandates/reed.md"],
    },
    output: (agent) => ({ text: () => describeAgent(agent) }),
    advice: ADVICE,
    jsonHelp: "print the agent as JSON",
    note: "All tenants share the roster, so it requires an admin of the default tenant.",
    examples: [
      "reins roster add reed",
      "reins roster add chronicler --kind role --mandate mandates/chronicler.md",
    ],
  }),
  "set-state": operationCommand({
    operation: rosterOperations.setAgent,
    summary: "set an agent to live, idle or dead",
    description: "Changes the state of an agent on the roster and keeps the rest of its line.",
    inputs: {
      agent: ["<agent>", "the agent's id"],
      state: ["<state>", "the new state", { choices: STATES }],
    },
    output: (agent) => ({ text: () => describeAgent(agent) }),
    advice: ADVICE,
    jsonHelp: "print the agent as JSON",
    examples: [
      "reins roster set-state reed idle",
      "reins roster set-state reed dead        unknown from the next decision on",
    ],
  }),
});

function rosterTable(agents: readonly RosterAgent[]): string {
  const rows = agents.map((agent) => [
    printableLine(agent.agent),
    agent.trust,
    member(agent, "kind"),
    member(agent, "state"),
    member(agent, "mandate"),
  ]);
  return table([["agent", "trust", "kind", "state", "mandate"], ...rows], screenWidth());
}

function describeAgent(agent: RosterAgent): string {
  return `${printableLine(agent.agent)} is ${agent.trust} now (${member(agent, "kind")}, ${member(agent, "state")})\n`;
}

/** A member of an agent's line; a dash where it is missing. */
function member({ entry }: RosterAgent, name: string): string {
  const value = Object.entries(entry).find(([key]) => key === name)?.[1];
  return typeof value === "string" ? printableLine(value) : "-";
}
