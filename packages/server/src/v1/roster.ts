import { rosterOperations } from "@reins/api";
import type { Harness, Roster } from "@reins/supervisor";
import type { GovernedCall } from "../dialect/call.ts";
import type { Dialect } from "../dialect/dialect.ts";
import type { SupervisorCode } from "../dialect/governing.ts";

type RosterFile = InstanceType<SupervisorCode["RosterFile"]>;

const files = new WeakMap<Harness, RosterFile>();

/** Who is known, and how well. */
export const rosterDialect: Dialect = {
  name: "roster",
  mount(place) {
    place.governed(rosterOperations.getRoster, async ({ harness }) => {
      const { roster } = harness.policies;
      const { entries, faults } = roster;
      const counting = entries.filter((entry) => roster.find(entry.session_id) === entry);
      return { agents: counting.map(({ session_id }) => agentIn(roster, session_id)), faults };
    });
    place.governed(rosterOperations.addAgent, async (call) => {
      const { session_id } = await fileOf(call).add(call.body, call.principal);
      return agentIn(call.harness.policies.roster, session_id);
    });
    place.governed(rosterOperations.setAgent, async (call) => {
      const { session_id } = await fileOf(call).set(call.params.agent, call.body, call.principal);
      return agentIn(call.harness.policies.roster, session_id);
    });
  },
};

function agentIn(roster: Roster, agent: string): object {
  return { agent, trust: roster.trustOf(agent), entry: roster.find(agent) };
}

/** Changes of one file are made one after the other, so there is one of these for each harness. */
function fileOf({ harness, supervisor }: GovernedCall): RosterFile {
  const file = files.get(harness) ?? new supervisor.RosterFile(harness);
  files.set(harness, file);
  return file;
}
