import { z } from "zod";
import { named } from "../named.ts";
import { operation } from "../operation.ts";
import { PathName } from "../text.ts";
import { AgentDetail, AgentInstall, AgentList, AgentVerification } from "./agent.ts";
import { AgentProcess } from "./process.ts";

const params = z.strictObject({ agent: PathName });
const ofProcess = z.strictObject({ agent: PathName, process: PathName });
const version = z.string().min(1).max(128).optional();

/** How an agent is to be installed. */
export const AgentInstallRequest = named(
  "AgentInstallRequest",
  z.strictObject({
    reinstall: z.boolean().optional().describe("also when it is there already"),
    agent_version: version.describe("of the agent itself; by default the catalogue's"),
    agent_process_version: version.describe("of the package that speaks ACP"),
  }),
);

/** How far an install is. The last one says `installed` or `failed`. */
export const AgentInstallProgress = named(
  "AgentInstallProgress",
  z.discriminatedUnion("phase", [
    z.looseObject({ phase: z.literal("waiting"), holder: z.int().describe("the process that installs it") }),
    z.looseObject({ phase: z.literal("installing"), done: z.int(), total: z.int() }),
    z.looseObject({ phase: z.literal("verifying") }),
    z.looseObject({ phase: z.literal("installed"), install: AgentInstall }),
    z.looseObject({ phase: z.literal("failed"), code: z.string(), message: z.string() }),
  ]),
);
export type AgentInstallProgress = z.infer<typeof AgentInstallProgress>;

/** How far a verification is. The last one says `verified` or `failed`. */
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

/** What can be asked for about agents. */
export const agentsOperations = {
  listAgents: operation({
    id: "list_agents",
    method: "GET",
    path: "/v1/agents",
    summary: "The agents of the catalogue, what of them is installed, and how far each is held.",
    audience: "principal",
    answer: AgentList,
    problems: ["unavailable"],
  }),
  getAgent: operation({
    id: "get_agent",
    method: "GET",
    path: "/v1/agents/{agent}",
    summary: "Everything that is known of an agent, with the processes of it that one may see.",
    audience: "principal",
    params,
    answer: AgentDetail,
    problems: ["not_found", "unavailable"],
  }),
  installAgent: operation({
    id: "install_agent",
    method: "POST",
    path: "/v1/agents/{agent}/install",
    summary:
      "Installs an agent and tells how far that is; who comes while it is being installed follows the same install. All tenants share installs, so only admins of the default one may.",
    audience: "admin",
    params,
    body: AgentInstallRequest.optional(),
    answer: AgentInstallProgress,
    events: "progress",
    problems: ["not_found", "conflict", "unavailable"],
  }),
  verifyAgent: operation({
    id: "verify_agent",
    method: "POST",
    path: "/v1/agents/{agent}/verify",
    summary:
      "Proves with a scripted model whether an installed agent's gate is live, and stamps it. Only admins of the default tenant may.",
    audience: "admin",
    params,
    answer: AgentVerifyProgress,
    events: "progress",
    problems: ["not_found", "conflict", "unavailable"],
  }),
  listAgentProcesses: operation({
    id: "list_agent_processes",
    method: "GET",
    path: "/v1/processes",
    summary: "The agents that run: one's own, for an admin all of the tenant.",
    audience: "principal",
    answer: AgentProcessList,
    problems: ["unavailable"],
  }),
  restartAgentProcess: operation({
    id: "restart_agent_process",
    method: "POST",
    path: "/v1/agents/{agent}/processes/{process}/restart",
    summary:
      "Ends a process in peace. Its sessions stay; the next prompt of each starts a new one. To end it at once, see kill.",
    audience: "admin",
    params: ofProcess,
    problems: ["not_found", "unavailable"],
  }),
} as const;
