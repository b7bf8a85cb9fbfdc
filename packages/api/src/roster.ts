import { z } from "zod";
import { operation } from "./operation.ts";
import { named, PathName, Trust } from "./schema.ts";

const known = {
  kind: z.string().min(1).max(64).optional().describe("role or agent"),
  state: z.string().min(1).max(64).optional().describe("live, idle or dead"),
  mandate: z.string().min(1).max(512).optional().describe("a file below the home, such as mandates/reed.md"),
};

/** A line of the roster. Members we do not know stay. */
const RosterEntry = named(
  "RosterEntry",
  z.looseObject({ session_id: z.string().min(1).max(128).describe("the agent's id"), ...known }),
);

/** A change of a line of the roster; members that are not named stay, and null removes a member. */
const RosterChange = named(
  "RosterChange",
  z.looseObject({
    session_id: z.never().optional().describe("an agent keeps its id"),
    kind: known.kind.nullable(),
    state: known.state.nullable(),
    mandate: known.mandate.nullable(),
  }),
);

/** An agent that is known, and how well. */
export const RosterAgent = named(
  "RosterAgent",
  z.looseObject({
    agent: z.string(),
    trust: Trust,
    entry: z.looseObject({ session_id: z.string() }).describe("its line of the roster"),
  }),
);
export type RosterAgent = z.infer<typeof RosterAgent>;

/** The known agents. */
const Roster = named(
  "Roster",
  z.looseObject({
    agents: z.array(RosterAgent),
    faults: z.array(z.string()).describe("lines that could not be read; the agents on them are unknown"),
  }),
);

/** Operations on the roster. */
export const rosterOperations = {
  getRoster: operation({
    id: "get_roster",
    method: "GET",
    path: "/v1/roster",
    summary: "Lists the known agents.",
    audience: "person",
    answer: Roster,
  }),
  addAgent: operation({
    id: "add_agent",
    method: "POST",
    path: "/v1/roster",
    summary:
      "Puts an agent on the roster. All tenants share it, so it requires an admin of the default tenant.",
    audience: "server",
    body: RosterEntry,
    status: 201,
    answer: RosterAgent,
    problems: ["conflict"],
  }),
  setAgent: operation({
    id: "set_agent",
    method: "PATCH",
    path: "/v1/roster/{agent}",
    summary: "Changes the given members of an agent on the roster and keeps the rest.",
    audience: "server",
    params: z.strictObject({ agent: PathName }),
    body: RosterChange,
    answer: RosterAgent,
    problems: ["not_found", "conflict"],
  }),
} as const;
