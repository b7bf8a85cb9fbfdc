import { join } from "node:path";
import {
  type AgentEntry,
  AgentError,
  Catalogue,
  type Installed,
  type InstalledAgent,
  Installer,
  ProbeCache,
  RegistrySource,
  Stamps,
} from "@reins/agents";
import type { HostingOptions } from "@reins/host";
import type { Network } from "@reins/runner";
import { homeInput } from "../command.ts";
import { type AgentsFile, addedIn, agentsFileIn, readAgentsFile } from "../configuration/agents-file.ts";
import {
  type Configuration,
  readConfiguration,
  skillSettings,
  tenantRoots,
} from "../configuration/configuration.ts";
import { type EngineSettings, graphSettings } from "../configuration/graphs.ts";
import { mcpServersFor } from "../configuration/mcp-servers.ts";
import { nativeSettings } from "../configuration/native.ts";
import { CliError, EXIT } from "../errors.ts";
import { unusable } from "../files.ts";
import { catalogueEntry } from "./install-agent.ts";

type AgentConfiguration = Pick<
  Configuration,
  | "confine"
  | "gateway"
  | "native"
  | "graphs"
  | "skills"
  | "agent_idle"
  | "cancel_grace"
  | "retention"
  | "tenants"
>;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const RETENTION_DAYS = 90;

/** The agents of a home: the catalogue, the installs and the verifications. Needs no server. */
export class HomeAgents {
  readonly catalogue: Catalogue;
  readonly installer: Installer;
  readonly registry: RegistrySource;
  readonly stamps: Stamps;
  readonly probes: ProbeCache;
  readonly added: readonly unknown[];
  readonly idleMs: number | undefined;
  readonly cancelGraceMs: number | undefined;
  readonly retentionMs: number;
  /** Which agents reach their models through Reins. */
  readonly gateway: Configuration["gateway"];
  readonly native: HostingOptions["native"];
  readonly graphs: HostingOptions["graphs"];
  /** What carries durable runs. */
  readonly engine: EngineSettings;
  readonly skills: NonNullable<HostingOptions["skills"]>;
  /** The configured MCP servers of an agent's sessions. */
  readonly serversFor: NonNullable<HostingOptions["serversFor"]>;
  /** Absolute. */
  readonly tenants: Readonly<Record<string, readonly string[]>>;
  readonly requireInstalled: boolean;
  readonly #requireVerified: boolean;
  readonly #pass: AgentsFile["pass"];
  readonly #protocol: ReadonlySet<string>;
  readonly #confine: Readonly<Record<string, { readonly network: Network }>>;

  private constructor(
    home: string,
    file: AgentsFile,
    catalogue: Catalogue,
    serversFor: NonNullable<HostingOptions["serversFor"]>,
    {
      confine,
      gateway,
      native,
      graphs,
      skills,
      agent_idle,
      cancel_grace,
      retention = RETENTION_DAYS,
      tenants,
    }: AgentConfiguration,
  ) {
    const folder = join(home, "agents");
    this.catalogue = catalogue;
    this.serversFor = serversFor;
    const { offline, require_checksums: requireChecksums } = file;
    const environment = offline ? { ...process.env, ...OFFLINE } : process.env;
    this.registry = new RegistrySource({ folder, environment, offline });
    const { registry } = this;
    this.installer = new Installer({ folder, catalogue, environment, offline, requireChecksums, registry });
    this.stamps = new Stamps(folder);
    this.probes = new ProbeCache(folder);
    this.added = addedIn(file);
    this.requireInstalled = file.require_installed;
    this.#requireVerified = file.require_verified;
    this.#pass = file.pass;
    this.#protocol = new Set(file.protocol);
    this.#confine = confine;
    this.gateway = gateway;
    this.tenants = tenantRoots(home, tenants);
    this.native = nativeSettings({
      ...native,
      prices: { ...gateway.prices, ...native.prices },
      unknown_price: gateway.unknown_price,
    });
    this.graphs = graphSettings(graphs);
    this.engine = graphs;
    this.skills = skillSettings(home, skills, process.env);
    this.idleMs = agent_idle === undefined ? undefined : agent_idle * MINUTE_MS;
    this.cancelGraceMs = cancel_grace === undefined ? undefined : cancel_grace * 1_000;
    this.retentionMs = retention * DAY_MS;
  }

  static async open(home: string): Promise<HomeAgents> {
    const [file, configuration] = await Promise.all([readAgentsFile(home), readConfiguration(home)]);
    const serversFor = await mcpServersFor(home, configuration.mcp);
    return new HomeAgents(home, file, loadCatalogue(home, file), serversFor, configuration);
  }

  /** True for an unknown agent: starting it reports the error. */
  async isInstalled(agent: string): Promise<boolean> {
    const entry = this.catalogue.entries.find(({ id }) => id === agent);
    if (!entry || entry.builtIn) return true;
    return (await this.installer.installed(agent)) !== undefined;
  }

  /** Environment variables that an agent gets beside what it needs. */
  passFor(agent: string): readonly string[] {
    return [...(this.#pass["*"] ?? []), ...(this.#pass[agent] ?? [])];
  }

  /** Whether what an agent says may declare action graphs. */
  declares(agent: string): boolean {
    return this.#protocol.has(agent);
  }

  /** Undefined for an agent that is not confined. */
  networkFor(agent: string): Network | undefined {
    return (this.#confine[agent] ?? this.#confine["*"])?.network;
  }

  isConfined(agent: string): boolean {
    return this.networkFor(agent) !== undefined;
  }

  /** The level of an agent that is not confined. */
  levelOf(entry: AgentEntry, installed: InstalledAgent): Promise<"asked" | "observed"> {
    return this.stamps.level({ entry, installed, confined: this.isConfined(entry.id) });
  }

  /** Throws for an agent that is not verified as it is now, where `agents.yaml` requires it. */
  async admit(entry: AgentEntry, installed: InstalledAgent): Promise<void> {
    if (!this.#requireVerified) return;
    await this.stamps.require({ entry, installed, confined: this.isConfined(entry.id) });
  }
}

/** What keeps npm and uv from the network. */
const OFFLINE = { npm_config_offline: "true", UV_OFFLINE: "1" };

export function loadCatalogue(home: string, file: AgentsFile): Catalogue {
  try {
    return Catalogue.load(addedIn(file), join(home, "agents"));
  } catch (error) {
    if (error instanceof AgentError) throw unusable(agentsFileIn(home), error.message, error);
    throw error;
  }
}

export const AGENT = ["<agent>", "the agent; see reins agents list"] as const;

export const AGENT_FLAGS = {
  home: homeInput("the home folder (default: reins in\nthe user's data folder)"),
  json: ["--json", "print the result as JSON"],
} as const;

export const SHA256 = [
  "--sha256 <hex>",
  "what the archive of an agent of the registry\nhas to have, as its makers publish it",
  { read: readSha256 },
] as const;

export const AGENT_CODES = {
  done: "done",
  failed: "failed; the message says why",
  usage: "wrong usage",
} as const;

function readSha256(digest: string): string {
  if (/^[0-9a-f]{64}$/i.test(digest)) return digest;
  throw new CliError(`"${digest}" is no SHA-256.`, { next: "Give its 64 hexadecimal digits." });
}

export async function openAgent(
  home: string,
  agent: string,
): Promise<{ agents: HomeAgents; entry: AgentEntry }> {
  const agents = await HomeAgents.open(home);
  return { agents, entry: catalogueEntry(agents, agent) };
}

export async function requireInstalled(
  { installer }: HomeAgents,
  { id, name }: AgentEntry,
): Promise<Installed> {
  const installed = await installer.installed(id);
  if (installed) return installed;
  throw new CliError(`${name} is not installed.`, {
    next: `To install it: reins agents install ${id}`,
    exitCode: EXIT.failed,
  });
}
