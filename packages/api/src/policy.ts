import { z } from "zod";
import { operation } from "./operation.ts";
import { Hash, named, OperatorTenant, PathName, Trust, Verdict } from "./schema.ts";

/** A policy that was read, checked and passed its own tests. */
export const LoadedPolicy = named(
  "LoadedPolicy",
  z.looseObject({
    constitution_hash: Hash.describe("of the prose"),
    rules_hash: Hash.describe("of the rules"),
    rules: z.array(
      z.looseObject({ name: z.string(), condition: z.looseObject({}), verdict: Verdict, reason: z.string() }),
    ),
    tests: z
      .array(z.looseObject({ name: z.string(), expect: Verdict }))
      .describe("the examples in the file, all of which it passed"),
    file: z.looseObject({}).describe("all that constitution.yaml says, with what it leaves to its defaults"),
  }),
);

/** The policy of a tenant: in force, waiting and on disk. */
export const PolicyStatus = named(
  "PolicyStatus",
  z.looseObject({
    tenant: z.string(),
    in_force: LoadedPolicy.nullable().describe("null blocks everything"),
    waiting: LoadedPolicy.nullable().describe("a changed file that allows more, until an admin accepts it"),
    fault: z.string().nullable().describe("what is wrong with the file as it is now"),
    rules: z.string().nullable().describe("constitution.yaml as it is on disk now"),
    prose: z.string().nullable().describe("constitution.md as it is on disk now"),
  }),
);
export type PolicyStatus = z.infer<typeof PolicyStatus>;

/** The constitution that an admin accepts. */
const PolicyAcceptance = named(
  "PolicyAcceptance",
  z.strictObject({
    rules_hash: Hash.optional().describe("refused when something else waits by now"),
    constitution_hash: Hash.optional(),
  }),
);

const query = z.strictObject({ tenant: OperatorTenant });

/** Operations on the policy. */
export const policyOperations = {
  getPolicy: operation({
    id: "get_policy",
    method: "GET",
    path: "/v1/policy",
    summary: "Returns the policy of a tenant.",
    audience: "person",
    query,
    answer: PolicyStatus,
    problems: ["not_found"],
  }),
  reloadPolicy: operation({
    id: "reload_policy",
    method: "POST",
    path: "/v1/policy/reload",
    summary: "Reads the files of the policy now.",
    audience: "admin",
    query,
    answer: PolicyStatus,
    problems: ["not_found"],
  }),
  acceptPolicy: operation({
    id: "accept_policy",
    method: "POST",
    path: "/v1/policy/accept",
    summary: "Puts a changed constitution that waits into force.",
    audience: "admin",
    query,
    body: PolicyAcceptance.optional(),
    answer: PolicyStatus,
    problems: ["not_found", "conflict"],
  }),
} as const;

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
