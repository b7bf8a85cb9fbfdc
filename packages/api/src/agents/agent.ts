import { z } from "zod";
import { Enforcement } from "../approvals/action.ts";
import { named } from "../named.ts";
import { Moment } from "../text.ts";
import { AgentProcess } from "./process.ts";

const Package = z.looseObject({
  name: z.string(),
  version: z.string(),
  integrity: z.string().optional().describe("the checksum that npm checked"),
});

/** Where an install came from. */
export const AgentInstall = named(
  "AgentInstall",
  z.looseObject({
    source: z
      .enum(["lockfile", "override", "local", "built_in"])
      .describe(
        "lockfile: exactly what the catalogue holds; override: versions that were asked for; local: was there already; built_in: part of Reins",
      ),
    version: z.string().describe("of the package that speaks ACP"),
    outdated: z.boolean().describe("whether the catalogue has moved on since"),
    agent_process: Package.optional().describe("the package that speaks ACP"),
    native: Package.optional().describe("the agent itself, where that is another package"),
    packages: z.int().optional().describe("how many packages were installed"),
    lock: z.string().optional().describe("SHA-256 of the manifest and the lockfile that npm worked from"),
    platform: z.string().optional(),
    said: z.string().optional().describe("what it answered when it was asked for its version"),
    installed_at: Moment.optional(),
  }),
);

export type AgentInstall = z.infer<typeof AgentInstall>;

/** What a verification found, and whether that is still what would run. */
export const AgentVerification = named(
  "AgentVerification",
  z.looseObject({
    state: z.enum(["not_needed", "unverified", "verified", "outdated"]),
    level: z.string().optional().describe("performed, confined, asked, observed, or open when nothing holds"),
    live: z
      .boolean()
      .optional()
      .describe("whether it asked before it acted, heeded the answer, and let nothing change that"),
    why: z.string().optional().describe("for outdated: what has changed since"),
    unasked: z.array(z.string()).optional().describe("what it did without asking"),
    held: z
      .record(z.string(), z.string())
      .optional()
      .describe("what holds it back from each thing it was told to do: asked, confined, unasked and so on"),
    faults: z.array(z.string()).optional().describe("why its gate is not live"),
    at: Moment.optional(),
  }),
);

export type AgentVerification = z.infer<typeof AgentVerification>;

/** An agent of the catalogue, and how it stands here. */
export const Agent = named(
  "Agent",
  z.looseObject({
    agent: z.string().describe("its id"),
    name: z.string(),
    support: z.looseObject({
      level: z.enum(["supported", "limited", "unsupported"]),
      reason: z.string().optional(),
    }),
    built_in: z.boolean(),
    registry: z.string().nullable().describe("its name in the ACP registry"),
    added: z.boolean().describe("whether the operator added it to the catalogue"),
    platforms: z.array(z.string()).describe("those it is made for; empty is any"),
    megabytes: z.int().nullable().describe("what an install takes on disk, about"),
    install: AgentInstall.nullable().describe("what is installed and in use; null when nothing is"),
    installing: z.boolean().describe("whether this Reins is installing it now"),
    verification: AgentVerification,
    enforcement: z.looseObject({
      level: Enforcement,
      reason: z.string().describe("why it is that level, in a sentence"),
      unasked: z.array(z.string()).describe("what it does without asking"),
    }),
    hostile: z
      .looseObject({ held: z.boolean(), reason: z.string() })
      .nullable()
      .describe("whether its profile holds in a hostile workspace"),
    credentials: z
      .looseObject({ found: z.array(z.string()), missing: z.array(z.string()) })
      .describe("names of variables and files of the user's home, for admins; never what is in them"),
    running: z.int().describe("how many of it run that one may see"),
    capabilities: z
      .looseObject({})
      .nullable()
      .describe("what it answered to initialize; null until it was asked"),
    modes: z.unknown().optional().describe("as it told them; absent until it was asked"),
    models: z.unknown().optional(),
    config_options: z.unknown().optional(),
  }),
);
export type Agent = z.infer<typeof Agent>;

/** Everything that is known of an agent. */
export const AgentDetail = named(
  "AgentDetail",
  Agent.extend({
    versions: z.array(z.string()).describe("every version that is on disk"),
    packages: z.array(Package).describe("what was installed, with checksums"),
    refused: z
      .looseObject({ code: z.int(), message: z.string() })
      .optional()
      .describe("why it would not open a session when it was probed, such as a login that is missing"),
    quirks: z.looseObject({}).nullable().describe("what has been seen of it that a host has to know"),
    probes: z.array(z.looseObject({})).describe("what came of each probe of its last verification"),
    processes: z.array(AgentProcess),
  }),
);
export type AgentDetail = z.infer<typeof AgentDetail>;

export const AgentList = named("AgentList", z.looseObject({ agents: z.array(Agent) }));
