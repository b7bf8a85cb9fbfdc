import { z } from "zod";
import { operation } from "./operation.ts";
import { Enforcement, Moment, named, PathName } from "./schema.ts";

/** The standard error of a process: its beginning and its end. */
export const KeptStderr = named(
  "KeptStderr",
  z.looseObject({
    head: z.string(),
    tail: z.string(),
    omitted: z.int().describe("how many bytes between the two were not kept"),
  }),
);

/** An agent that runs. */
export const AgentProcess = named(
  "AgentProcess",
  z.looseObject({
    id: z.string().describe("names it until it ends"),
    agent: z.string(),
    version: z.string(),
    pid: z.int().nullable().describe("null for one that runs inside Reins itself"),
    principal: z.string().describe("the principal it runs for; it is never shared"),
    started_at: Moment,
    memory_bytes: z
      .int()
      .nullable()
      .describe("of its process group and their children; null where the system does not report it"),
    processes: z.int().nullable().describe("how many these are, itself included"),
    confined: z.boolean().describe("whether the operating system keeps it to its folders"),
    sessions: z.array(z.string()).describe("the sessions it holds"),
    stderr: KeptStderr.nullable().describe("its error output, without secrets; for admins"),
  }),
);
export type AgentProcess = z.infer<typeof AgentProcess>;

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
      .enum(["lockfile", "override", "registry", "local", "built_in"])
      .describe(
        "lockfile: exactly what the catalogue holds; override: versions that were asked for; registry: the version that the registry named; local: was there already; built_in: part of Reins",
      ),
    provenance: z
      .enum(["registry", "fallback", "local_path", "builtin"])
      .describe(
        "registry: as the ACP registry has it; fallback: the pinned catalogue or a version asked for",
      ),
    non_registry: z.boolean().describe("whether the registry had no part in it"),
    version: z.string().describe("of the package that speaks ACP"),
    outdated: z.boolean().describe("whether the catalogue has moved on since"),
    update: z.string().nullable().describe("the version that an update would install"),
    registry: z.looseObject({ url: z.string(), id: z.string(), version: z.string() }).optional(),
    artifact: z
      .looseObject({ url: z.string(), sha256: z.string(), bytes: z.int(), checked: z.boolean() })
      .optional()
      .describe("the archive it came in, and whether its checksum was known before"),
    agent_process: Package.optional().describe("the package that speaks ACP"),
    native: Package.optional().describe("the agent itself, where that is another package"),
    packages: z.int().optional().describe("how many packages were installed"),
    lock: z.string().optional().describe("SHA-256 of what its content was checked by"),
    platform: z.string().optional(),
    said: z.string().optional().describe("the version that it reported itself"),
    installed_at: Moment.optional(),
  }),
);

export type AgentInstall = z.infer<typeof AgentInstall>;

/** What a verification found, and whether that is still what would run. */
export const AgentVerification = named(
  "AgentVerification",
  z.looseObject({
    state: z.enum(["not_needed", "unverified", "verified", "outdated"]),
    level: z
      .string()
      .optional()
      .describe("performed, confined, asked, observed, or open if nothing enforces verdicts"),
    live: z.boolean().optional().describe("whether it always asked before it acted and obeyed the answer"),
    why: z.string().optional().describe("for outdated: what has changed since"),
    unasked: z.array(z.string()).optional().describe("what it did without asking"),
    held: z
      .record(z.string(), z.string())
      .optional()
      .describe("what stopped each action of the probes: asked, confined, unasked and so on"),
    faults: z.array(z.string()).optional().describe("why its gate is not live"),
    at: Moment.optional(),
  }),
);

export type AgentVerification = z.infer<typeof AgentVerification>;

/** An agent of the catalogue, with its install and its verification. */
export const Agent = named(
  "Agent",
  z.looseObject({
    agent: z.string().describe("its id"),
    id: z.string().optional().describe("the same, for clients of Sandbox Agent"),
    installed: z.boolean().optional().describe("whether it can be started without an install"),
    credentialsAvailable: z
      .boolean()
      .optional()
      .describe("whether it has what it logs in with, as far as that is known"),
    name: z.string(),
    support: z.looseObject({
      level: z.enum(["supported", "limited", "unsupported"]),
      reason: z.string().optional(),
    }),
    built_in: z.boolean(),
    registry: z.string().nullable().describe("its name in the ACP registry"),
    added: z.boolean().describe("whether the operator added it to the catalogue"),
    platforms: z.array(z.string()).describe("those it is made for; empty is any"),
    megabytes: z.int().nullable().describe("the approximate size of an install on disk"),
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
    running: z.int().describe("how many of its processes the caller may see"),
    capabilities: z
      .looseObject({})
      .nullable()
      .describe("what it answered to initialize; null until it was asked"),
    modes: z.unknown().optional().describe("as it reported them; absent before it was queried"),
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

/** The ACP registry as it is known. */
const AgentRegistryState = z.looseObject({
  state: z
    .enum(["current", "cached", "unavailable", "off"])
    .describe("cached: of an earlier time; unavailable: nothing is known of it"),
  url: z.string().nullable(),
  confirmed_at: Moment.nullable().describe("when its content was last confirmed"),
  fault: z.string().nullable().describe("why it could not be asked"),
  offered: z
    .array(z.looseObject({ id: z.string(), name: z.string(), version: z.string(), description: z.string() }))
    .describe("agents that can be installed from it, beside those of the list"),
  refused: z.array(z.looseObject({ id: z.string(), reason: z.string() })),
});

export const AgentList = named(
  "AgentList",
  z.looseObject({ agents: z.array(Agent), registry: AgentRegistryState }),
);

const params = z.strictObject({ agent: PathName });
const ofProcess = z.strictObject({ agent: PathName, process: PathName });
const version = z.string().min(1).max(128).optional();

/** How an agent is to be installed. */
const AgentInstallRequest = named(
  "AgentInstallRequest",
  z.strictObject({
    reinstall: z.boolean().optional().describe("also when it is there already"),
    update: z.boolean().optional().describe("to the version that is offered, and verify it"),
    model_api: z
      .enum(["anthropic", "openai-chat", "openai-responses", "gemini"])
      .optional()
      .describe("how an agent of the registry asks its model, so that it can be verified"),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, "must be 64 hexadecimal digits")
      .optional()
      .describe("what the archive of an agent of the registry has to have"),
    agent_version: version.describe("of the agent itself; by default the catalogue's"),
    agent_process_version: version.describe("of the package that speaks ACP"),
  }),
);

/** The progress of an install. The last event is `installed` or `failed`. */
export const AgentInstallProgress = named(
  "AgentInstallProgress",
  z.discriminatedUnion("phase", [
    z.looseObject({ phase: z.literal("asked"), approval: z.string().describe("the approval it waits for") }),
    z.looseObject({ phase: z.literal("waiting"), holder: z.int().describe("the process that installs it") }),
    z.looseObject({ phase: z.literal("installing"), done: z.int(), total: z.int() }),
    z.looseObject({ phase: z.literal("verifying"), done: z.int().optional(), total: z.int().optional() }),
    z.looseObject({ phase: z.literal("installed"), install: AgentInstall }),
    z.looseObject({ phase: z.literal("failed"), code: z.string(), message: z.string() }),
  ]),
);
export type AgentInstallProgress = z.infer<typeof AgentInstallProgress>;

/** The progress of a removal. The last event is `removed` or `failed`. */
export const AgentRemoveProgress = named(
  "AgentRemoveProgress",
  z.discriminatedUnion("phase", [
    z.looseObject({ phase: z.literal("asked"), approval: z.string().describe("the approval it waits for") }),
    z.looseObject({
      phase: z.literal("removed"),
      removed: z.boolean().describe("whether anything was installed"),
    }),
    z.looseObject({ phase: z.literal("failed"), code: z.string(), message: z.string() }),
  ]),
);
export type AgentRemoveProgress = z.infer<typeof AgentRemoveProgress>;

/** An install as one answer. */
const AgentInstallAnswer = named(
  "AgentInstallAnswer",
  z.looseObject({
    already_installed: z.boolean(),
    artifacts: z.array(
      z.looseObject({
        kind: z.enum(["agent_process", "native_agent"]),
        path: z.string(),
        source: z.string().describe("its provenance"),
        version: z.string(),
      }),
    ),
    install: AgentInstall,
  }),
);

/** The progress of a verification. The last event is `verified` or `failed`. */
export const AgentVerifyProgress = named(
  "AgentVerifyProgress",
  z.discriminatedUnion("phase", [
    z.looseObject({
      phase: z.literal("probing"),
      setting: z.string(),
      probe: z.string(),
      answer: z.string(),
      done: z.int(),
      total: z.int(),
    }),
    z.looseObject({ phase: z.literal("verified"), verification: AgentVerification }),
    z.looseObject({ phase: z.literal("failed"), code: z.string(), message: z.string() }),
  ]),
);
export type AgentVerifyProgress = z.infer<typeof AgentVerifyProgress>;

/** Processes that run. */
export const AgentProcessList = named(
  "AgentProcessList",
  z.looseObject({ processes: z.array(AgentProcess) }),
);

/** What clients of Sandbox Agent ask for, which is always included. */
const forSandboxClients = z.strictObject({
  config: z.enum(["true", "false"]).optional(),
  no_cache: z.enum(["true", "false"]).optional(),
});

/** Operations on agents. */
export const agentsOperations = {
  listAgents: operation({
    id: "list_agents",
    method: "GET",
    path: "/v1/agents",
    summary: "Lists the agents of the catalogue with their installs and enforcement levels.",
    audience: "principal",
    query: forSandboxClients,
    answer: AgentList,
    problems: ["unavailable"],
  }),
  getAgent: operation({
    id: "get_agent",
    method: "GET",
    path: "/v1/agents/{agent}",
    summary: "Returns everything known about an agent, with its processes that the caller may see.",
    audience: "principal",
    params,
    query: forSandboxClients,
    answer: AgentDetail,
    problems: ["not_found", "unavailable"],
  }),
  installAgent: operation({
    id: "install_agent",
    method: "POST",
    path: "/v1/agents/{agent}/install",
    summary:
      "Installs an agent of the catalogue or the registry, after a verdict, and reports its progress; a request during an install follows the same install. A client that accepts only `application/json` gets one answer at the end. All tenants share installs, so it requires an admin of the default tenant.",
    audience: "server",
    params,
    body: AgentInstallRequest.optional(),
    answer: AgentInstallProgress,
    events: "progress",
    json: AgentInstallAnswer,
    problems: ["not_found", "conflict", "forbidden", "not_acceptable", "bad_gateway", "unavailable"],
  }),
  removeInstall: operation({
    id: "remove_install",
    method: "DELETE",
    path: "/v1/agents/{agent}/install",
    summary:
      "Removes every installed version of an agent, after a verdict, and reports when that is done. Requires an admin of the default tenant.",
    audience: "server",
    params,
    answer: AgentRemoveProgress,
    events: "progress",
    problems: ["not_found", "unavailable"],
  }),
  verifyAgent: operation({
    id: "verify_agent",
    method: "POST",
    path: "/v1/agents/{agent}/verify",
    summary:
      "Proves with a scripted model whether an installed agent's gate is live, and stamps it. Requires an admin of the default tenant.",
    audience: "server",
    params,
    answer: AgentVerifyProgress,
    events: "progress",
    problems: ["not_found", "conflict", "unavailable"],
  }),
  listAgentProcesses: operation({
    id: "list_agent_processes",
    method: "GET",
    path: "/v1/agent-processes",
    summary: "Lists the agents that run: the caller's own, for an admin all of the tenant.",
    audience: "principal",
    answer: AgentProcessList,
    problems: ["unavailable"],
  }),
  restartAgentProcess: operation({
    id: "restart_agent_process",
    method: "POST",
    path: "/v1/agents/{agent}/processes/{process}/restart",
    summary:
      "Ends a process gracefully. Its sessions stay; the next prompt of each starts a new one. To end it at once, see kill.",
    audience: "admin",
    params: ofProcess,
    problems: ["not_found", "unavailable"],
  }),
} as const;
