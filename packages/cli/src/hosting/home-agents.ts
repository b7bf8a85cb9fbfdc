import { join } from "node:path";
import {
  type AgentEntry,
  AgentError,
  Catalogue,
  type HostingOptions,
  type InstalledAgent,
  Installer,
  type Network,
  ProbeCache,
  Stamps,
} from "@reins/host";
import { type AgentsFile, agentsFileIn, readAgentsFile } from "../configuration/agents-file.ts";
import {
  type Configuration,
  nativeSettings,
  readConfiguration,
  tenantRoots,
  unusable,
} from "../configuration/configuration.ts";

/** What of the configuration is about agents and their sessions. */
type AgentConfiguration = Pick<
  Configuration,
  "confine" | "native" | "agent_idle" | "cancel_grace" | "retention" | "tenants"
>;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const RETENTION_DAYS = 90;

/** The agents of a home: which there are, what of them is installed, and what is known of them. Needs no server. */
export class HomeAgents {
  readonly catalogue: Catalogue;
  readonly installer: Installer;
  readonly stamps: Stamps;
  readonly probes: ProbeCache;
  /** Agents that the operator has added. */
  readonly added: readonly unknown[];
  /** How long an agent that nobody uses runs on, where the operator says so. */
  readonly idleMs: number | undefined;
  /** How long an agent may take to end a turn that was cancelled, where the operator says so. */
  readonly cancelGraceMs: number | undefined;
  /** How long the messages of sessions are kept. */
  readonly retentionMs: number;
  /** What the operator wants of the native agent otherwise than by default. */
  readonly native: HostingOptions["native"];
  /** The folders that the operator gave to tenants, absolute. */
  readonly tenants: Readonly<Record<string, readonly string[]>>;
  /** Whether no agent is installed on first use. */
  readonly requireInstalled: boolean;
  readonly #requireVerified: boolean;
  readonly #pass: AgentsFile["pass"];
  readonly #confine: Readonly<Record<string, { readonly network: Network }>>;

  private constructor(
    home: string,
    file: AgentsFile,
    catalogue: Catalogue,
    { confine, native, agent_idle, cancel_grace, retention = RETENTION_DAYS, tenants }: AgentConfiguration,
  ) {
    const folder = join(home, "agents");
    this.catalogue = catalogue;
    this.installer = new Installer({ folder, catalogue, environment: process.env });
    this.stamps = new Stamps(folder);
    this.probes = new ProbeCache(folder);
    this.added = file.agents;
    this.requireInstalled = file.require_installed;
    this.#requireVerified = file.require_verified;
    this.#pass = file.pass;
    this.#confine = confine;
    this.tenants = tenantRoots(home, tenants);
    this.native = nativeSettings(native);
    this.idleMs = agent_idle === undefined ? undefined : agent_idle * MINUTE_MS;
    this.cancelGraceMs = cancel_grace === undefined ? undefined : cancel_grace * 1_000;
    this.retentionMs = retention * DAY_MS;
  }

  /** Reads what a home says of its agents. */
  static async open(home: string): Promise<HomeAgents> {
    const [file, configuration] = await Promise.all([readAgentsFile(home), readConfiguration(home)]);
    return new HomeAgents(home, file, loadCatalogue(home, file), configuration);
  }

  /** Whether an agent is there to be run. Whoever starts one that nobody knows says so. */
  async isInstalled(agent: string): Promise<boolean> {
    const entry = this.catalogue.entries.find(({ id }) => id === agent);
    if (!entry || entry.builtIn) return true;
    return (await this.installer.installed(agent)) !== undefined;
  }

  /** The variables of the environment that an agent is given beside what it needs anyway. */
  passFor(agent: string): readonly string[] {
    return [...(this.#pass["*"] ?? []), ...(this.#pass[agent] ?? [])];
  }

  /** What an agent reaches over the network if the operating system is to confine it; nothing for one that it is not. */
  networkFor(agent: string): Network | undefined {
    return (this.#confine[agent] ?? this.#confine["*"])?.network;
  }

  /** Whether the operating system is to confine an agent. */
  isConfined(agent: string): boolean {
    return this.networkFor(agent) !== undefined;
  }

  /** Throws for an agent that may not run because nobody has verified it as it is now, where that is asked for. */
  async admit(entry: AgentEntry, installed: InstalledAgent): Promise<void> {
    if (!this.#requireVerified) return;
    await this.stamps.require({ entry, installed, confined: this.isConfined(entry.id) });
  }
}

/** The agents of this package and those that the operator of a home has added. */
export function loadCatalogue(home: string, { agents }: AgentsFile): Catalogue {
  try {
    return Catalogue.load(agents);
  } catch (error) {
    if (error instanceof AgentError) throw unusable(agentsFileIn(home), error.message, error);
    throw error;
  }
}
