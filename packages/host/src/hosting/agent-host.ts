import { dirname } from "node:path";
import type { Channel, JsonObject } from "@reins/acp";
import type { ConversationRewind, ToolView } from "@reins/agent";
import type { AgentEntry, Catalogue, InstalledAgent } from "@reins/agents";
import { type AgentLaunch, type ModelEndpoint, processChannel } from "@reins/agents";
import { systemClock } from "@reins/kit";
import type { McpGateway } from "@reins/mcp";
import type { Owner, ProcessRegistry, ProcessRoot, Sandbox } from "@reins/runner";
import {
  AgentProcess,
  type Confinement,
  type Network,
  networkReach,
  type PrivateHome,
  type StopReport,
} from "@reins/runner";
import type { Enforcement, Harness, Principal } from "@reins/supervisor";
import type { GovernorOptions, TurnPreparation } from "../governor/context.ts";
import { Governor } from "../governor/governor.ts";
import { SessionFolders } from "../governor/session-folders.ts";
import type { Protocol } from "../graph/protocol.ts";
import { NATIVE_AGENT } from "../graph/run-place.ts";
import { MCP_CLIENT, startMcpClient } from "../mcp/mcp-client.ts";
import type { ToolPins } from "../mcp/tool-pins.ts";
import { OwnedCommands, type OwnedCommandsOptions } from "../native/owned-commands.ts";
import type { NativeSettings } from "../native/start-native.ts";
import type { Subagents } from "../native/subagents.ts";
import type { FileSnapshots } from "../rewind/file-snapshots.ts";
import type { SkillLibrary } from "../skills/skill-library.ts";
import type { Messaging } from "../turn/messaging.ts";
import type { TurnOffers } from "../turn/turn-offers.ts";
import {
  type IdleTimeouts,
  sessionNamedIn,
  tappedChannel,
  type WireTap,
  withIdleTimeout,
} from "../wire/agent-channel.ts";
import { AgentHomes } from "./agent-homes.ts";
import { initialized } from "./initialize-agent.ts";
import type { ModelAccess, ModelLease } from "./model-access.ts";

export interface AgentHostOptions {
  readonly harness: Harness;
  readonly catalogue: Catalogue;
  readonly owner: Owner;
  readonly gateway: McpGateway;
  /** Finds an install, or makes one for a principal. */
  readonly install: (entry: AgentEntry, principal: Principal) => Promise<InstalledAgent>;
  /** Throws for an install that may not run, such as one that was not verified. */
  readonly admit?: ((entry: AgentEntry, installed: InstalledAgent) => Promise<void>) | undefined;
  /** The level of an agent that is not confined; what its entry says when absent. */
  readonly levelFor?: ((entry: AgentEntry, installed: InstalledAgent) => Promise<Enforcement>) | undefined;
  /** The tools of turns, where clients have a say in them. */
  readonly offers?: TurnOffers | undefined;
  /** The mail and the boards of the native agent's tools. */
  readonly messaging?: Messaging | undefined;
  /** Sees every message to and from agents. */
  readonly tap?: WireTap | undefined;
  /** The register of the agents that run. */
  readonly register?: ProcessRegistry | undefined;
  /** The operator's settings of the native agent. */
  readonly native?: NativeSettings | undefined;
  /** The skills of folders. */
  readonly skills?: SkillLibrary | undefined;
  /** Starts the children of built-in agents; without it they cannot have any. */
  readonly subagents?: Subagents | undefined;
  /** What agents that declare action graphs speak with. */
  readonly protocol?: Protocol | undefined;
  /** Keeps what files were before Reins changes them. */
  readonly snapshots?: FileSnapshots | undefined;
  /** The definitions of tools of MCP servers as they were pinned. */
  readonly pins?: ToolPins | undefined;
  /** Puts mail and constitution before the prompts of a tenant. */
  readonly preparationFor?: ((tenant: string) => TurnPreparation) | undefined;
  /** The user's home, from which credentials come. */
  readonly userHome?: string;
  /** Which folders sessions may work in; by default those that need no configuration. */
  readonly folders?: SessionFolders | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The variables of the environment that the operator passes to an agent. */
  readonly passFor?: ((agent: string) => readonly string[]) | undefined;
  /** The MCP servers that the operator configured for the sessions of an agent, by tenant. */
  readonly serversFor?: ((agent: string, tenant: string) => readonly unknown[]) | undefined;
  /** Whether an agent is configured to declare action graphs by what it says; the native agent has a mode for that. */
  readonly declares?: ((agent: string) => boolean) | undefined;
  /** The network of a confined agent; one without any is not confined. */
  readonly networkFor?: ((agent: string) => Network | undefined) | undefined;
  /** A sandbox that was found to work; by default it is looked for when it is needed. */
  readonly sandbox?: Sandbox | undefined;
  /** The model that the operator gives an agent instead of its own. */
  readonly modelFor?: ((agent: string) => ModelEndpoint | undefined) | undefined;
  /** Leases the gateway to models to agents that are configured for it. */
  readonly models?: ModelAccess | undefined;
  /** How long an agent may take to end a turn that was cancelled; by default ten seconds. */
  readonly cancelGraceMs?: number | undefined;
  /** How long an agent that owes a response may send nothing. */
  readonly idleTimeouts?: IdleTimeouts | undefined;
  readonly onFault?: (agent: string, reason: string) => void;
}

export interface StartOptions {
  readonly principal: Principal;
  /** The channel of its sessions: the middle of their keys. */
  readonly from: string;
  /** The clients of a session that a call names no owner for. */
  readonly clients: GovernorOptions["clients"];
  /** Whether updates that an agent replays when it resumes a session are shown. */
  readonly showReplays?: boolean | undefined;
  /** Has the operating system keep the agent to these folders. */
  readonly confine?: Pick<Confinement, "roots" | "identities" | "network"> | undefined;
}

/** An agent that runs, and the governor in front of it. */
export interface HostedAgent {
  /** Its id in the register; absent where there is none. */
  readonly id?: string | undefined;
  readonly entry: AgentEntry;
  readonly version: string;
  readonly governor: Governor;
  /** Its process; none for one that runs in this one. */
  readonly process: AgentProcess | undefined;
  /** Its private home; none for one that runs in this process. */
  readonly home?: string | undefined;
  /** Its response to `initialize`. */
  readonly initialized: JsonObject;
  /** How it resumes a session, if it can. */
  readonly resumeMethod: "session/resume" | "session/load" | undefined;
  /** Describes the tools that a session may use now, by the agent's id of it; only the native agent can. */
  readonly tools?: ((sessionId: string, signal: AbortSignal) => Promise<ToolView | undefined>) | undefined;
  /** Takes the conversation of a session back, by the agent's id of it; only the native agent can. */
  readonly rewind?: ((sessionId: string, rewind: ConversationRewind) => Promise<boolean>) | undefined;
  /** Whether it is used outside of turns, so that it is not idle. */
  readonly isInUse?: (() => boolean) | undefined;
  /** Ends its sessions and every process that it started, and returns the report of that. */
  stop(reason: string): Promise<StopReport | undefined>;
}

/** An agent's row in the register of those that run; each function does nothing where there is no register. */
interface Entered {
  readonly id: string | undefined;
  readonly hold: (sessions: readonly string[]) => void;
  readonly root: OwnedCommandsOptions["onStart"];
  readonly remove: () => void;
}

/** Starts agents as their entries say, each in a home of its own, and puts a governor in front of each. */
export class AgentHost {
  readonly #options: AgentHostOptions;
  readonly homes: AgentHomes;
  /** Which folders sessions may work in. */
  readonly folders: SessionFolders;

  constructor(options: AgentHostOptions) {
    this.#options = options;
    this.homes = new AgentHomes(options);
    this.folders = options.folders ?? new SessionFolders(options);
  }

  /** The network of a confined agent; undefined for one that is not confined. */
  networkFor(agent: string): Network | undefined {
    return this.#options.networkFor?.(agent);
  }

  /** MCP servers that the operator gives each session of an agent; what stands for MCP clients has its own alone. */
  serversFor(agent: string, tenant: string): readonly unknown[] {
    return agent === MCP_CLIENT ? [] : (this.#options.serversFor?.(agent, tenant) ?? []);
  }

  /** Whether an agent lets the sessions of one process use each other's MCP servers. */
  separates(agent: string): boolean {
    return this.#options.catalogue.entry(agent).quirks?.mixesServers ?? false;
  }

  /** Whether an agent is part of Reins, and runs inside it. */
  isBuiltIn(agent: string): boolean {
    return this.#options.catalogue.entry(agent).builtIn;
  }

  /** Whether the calls of an agent to its model pass the gateway, so that each session needs a process with its own token. */
  isMetered(agent: string): boolean {
    return this.#options.models?.isMetered(this.#options.catalogue.entry(agent)) ?? false;
  }

  /** Starts an agent. */
  async start(id: string, start: StartOptions): Promise<HostedAgent> {
    const { catalogue, install } = this.#options;
    const entry = catalogue.entry(id);
    if (entry.builtIn) return this.#startBuiltIn(entry, start);
    const installed = await install(entry, start.principal);
    await this.#options.admit?.(entry, installed);
    const level = (await this.#options.levelFor?.(entry, installed)) ?? entry.enforcement.level;
    const lease = await this.#options.models?.lease(entry);
    return this.#startProcess(entry, installed, { ...start, lease, level }).catch((error: unknown) => {
      lease?.revoke();
      throw error;
    });
  }

  /** Starts the process of an agent that was installed. */
  async #startProcess(
    entry: AgentEntry,
    installed: InstalledAgent,
    start: StartOptions & { readonly lease: ModelLease | undefined; readonly level: Enforcement },
  ): Promise<HostedAgent> {
    const { harness, owner, onFault } = this.#options;
    const { lease } = start;
    const { launch, home } = await this.homes.prepare(entry, installed, start, lease?.endpoint);
    const confinement = start.confine && this.homes.confinement(start.confine, home, installed.folder);
    const noise = harness.redactor.stream();
    // Lines may belong together: those of a key are recognised by their neighbours.
    const withoutSecrets = (line: string) => `${noise.push(`${line}\n`)}${noise.flush()}`.trimEnd();
    const process = await AgentProcess.start(
      { ...launch, cwd: home.home, label: entry.name, ...(confinement && { confinement }) },
      {
        owner,
        onFault: ({ kind, excerpt }) => onFault?.(entry.id, `${kind}: ${withoutSecrets(excerpt)}`),
        ...(this.#options.sandbox && { sandbox: this.#options.sandbox }),
      },
    );
    const entered = this.#enter(entry, start, process);
    void process.exited.then(() => {
      lease?.revoke();
      entered.remove();
    });
    const governor = this.#govern(entry, launch, process, { ...start, entered });
    lease?.govern(() => governor.sessions);
    const stop = async (reason: string) => {
      let report: StopReport | undefined;
      await governor.close(reason, async () => {
        report = await process.stop();
        await home.collect();
      });
      return report;
    };
    const { version } = installed;
    return initialized({ id: entered.id, entry, version, governor, process, home: home.home, stop });
  }

  async #startBuiltIn(entry: AgentEntry, start: StartOptions): Promise<HostedAgent> {
    const { harness, environment, offers, subagents, messaging, protocol, skills } = this.#options;
    const { native: settings, userHome } = this.#options;
    const { principal, confine } = start;
    const entered = this.#enter(entry, start);
    const shared = {
      ...{ harness, entry, principal },
      governor: { ...this.#governing(entry, start), onSessions: entered.hold },
      tapped: (channel: Channel, governor: () => Governor) =>
        this.#tapped(channel, entry, { principal, entered }, governor),
    };
    const lease = await this.#options.models?.lease(entry);
    const startOther = async () => {
      const { startNative } = await import("../native/start-native.ts");
      const home = confine && (await this.homes.prepareEmpty(entry, start));
      return startNative({
        ...{ ...shared, offers, subagents, protocol, skills, settings, userHome },
        environment: { ...environment, ...lease?.environment },
        messaging: messaging?.forTenant(principal.tenant),
        commands: await this.#commands(confine, home, entered.root),
        confined: home && confine && { home: home.home, network: networkReach(confine.network) },
      });
    };
    const started = entry.id === MCP_CLIENT ? startMcpClient(shared) : await startOther();
    lease?.govern(() => started.governor.sessions);
    const stop = async (reason: string) => {
      await started.stop(reason);
      lease?.revoke();
      entered.remove();
      return undefined;
    };
    return initialized({ ...started, id: entered.id, entry, version: "0.1.0", process: undefined, stop });
  }

  /** Whether the native agent has a model to ask. */
  get hasModel(): boolean {
    const { environment } = this.#options;
    const names = ["REINS_MODEL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"];
    return names.some((name) => (environment[name] ?? "").trim() !== "");
  }

  /** Runs the commands of a session outside of its agent, confined as the agent is; `release` ends its row in the register. */
  async commandsFor(
    { principal, agent, session }: { principal: Principal; agent: string; session: string },
    place: Pick<Confinement, "roots" | "identities">,
  ): Promise<{ readonly commands: OwnedCommands; readonly release: () => void }> {
    const entry = this.#options.catalogue.entry(agent);
    const network = this.networkFor(agent);
    const confine = network && { ...place, network };
    const start = { principal, confine };
    const home = confine && (await this.homes.prepareEmpty(entry, start));
    const entered = this.#enter(entry, start);
    entered.hold([session]);
    return { commands: await this.#commands(confine, home, entered.root), release: entered.remove };
  }

  /** Runs the commands of a built-in agent. */
  async #commands(
    confine: StartOptions["confine"],
    home: PrivateHome | undefined,
    onStart: OwnedCommandsOptions["onStart"],
  ): Promise<OwnedCommands> {
    const { owner, environment, sandbox, native, passFor } = this.#options;
    const { commandEnvironment } = await import("@reins/agent");
    const confinement = confine && home && this.homes.confinement(confine, home, dirname(process.execPath));
    return new OwnedCommands({
      ...{ owner, confinement, sandbox, onStart },
      environment: {
        ...commandEnvironment(environment, passFor?.(NATIVE_AGENT)),
        ...native?.environment,
      },
    });
  }

  /** Enters an agent among those that run. */
  #enter(
    entry: AgentEntry,
    { principal, confine }: Pick<StartOptions, "principal" | "confine">,
    process?: AgentProcess,
  ): Entered {
    const { register } = this.#options;
    const found = { agent: entry.id, tenant: principal.tenant, principal: principal.id };
    const started_at = new Date().toISOString();
    const id = register?.add({ ...found, confined: confine !== undefined, started_at }, process);
    return {
      id,
      hold: (sessions: readonly string[]) => id !== undefined && register?.hold(id, sessions),
      root: (root: ProcessRoot) => (id === undefined ? undefined : register?.root(id, root)),
      remove: () => id !== undefined && register?.remove(id),
    };
  }

  #govern(
    entry: AgentEntry,
    launch: AgentLaunch,
    process: AgentProcess,
    start: StartOptions & { readonly entered: Entered; readonly level: Enforcement },
  ): Governor {
    const { harness, idleTimeouts, declares, protocol, onFault } = this.#options;
    const kill = () => void process.stop().catch((error: unknown) => onFault?.(entry.id, String(error)));
    const channel = withIdleTimeout(processChannel(process, harness.redactor), {
      label: entry.name,
      clock: systemClock,
      timeouts: idleTimeouts,
      onTimeout: kill,
    });
    const { principal, confine, entered } = start;
    const governor: Governor = new Governor({
      ...this.#governing(entry, start),
      ...{ harness, entry, launch, principal, onSessions: entered.hold },
      channel: this.#tapped(channel, entry, start, () => governor),
      protocol: declares?.(entry.id) ? protocol?.serviceFor(principal.tenant) : undefined,
      stop: (reason) => {
        onFault?.(entry.id, reason);
        kill();
      },
      enforcement: confine ? "confined" : start.level,
      network: confine && networkReach(confine.network),
    });
    return governor;
  }

  /** The channel to an agent, with the tap on it, if there is one. */
  #tapped(
    channel: Channel,
    { id: agent }: AgentEntry,
    { principal, entered }: Pick<StartOptions, "principal"> & { readonly entered: Entered },
    governor: () => Governor,
  ): Channel {
    const { tap } = this.#options;
    if (!tap) return channel;
    const { tenant } = principal;
    return tappedChannel(channel, (direction, message) => {
      const named = sessionNamedIn(message);
      // The agent has its own name for a session, of which the governor knows ours.
      const session = named === undefined ? undefined : governor().sessionOf(named)?.id;
      tap({ edge: "agent", direction, tenant, session, peer: entered.id ?? agent, agent, message });
    });
  }

  /** The options of the governor that all agents share. */
  #governing(entry: AgentEntry, start: StartOptions) {
    const { gateway, pins, preparationFor, cancelGraceMs, snapshots, onFault } = this.#options;
    return {
      ...{ pins, snapshots },
      configured: this.serversFor(entry.id, start.principal.tenant),
      isMetered: this.isMetered(entry.id),
      cancelGraceMs,
      from: start.from,
      clients: start.clients,
      folders: this.folders,
      servers: gateway,
      preparation: preparationFor?.(start.principal.tenant),
      showReplays: start.showReplays ?? true,
      onFault: (reason: string) => onFault?.(entry.id, reason),
    };
  }
}
