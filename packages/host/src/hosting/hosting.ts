import { homedir } from "node:os";
import { type AgentEntry, Catalogue, type InstalledAgent } from "@reins/agents";
import { SYSTEM } from "@reins/ledger";
import { McpGateway } from "@reins/mcp";
import { Owner, ProcessRegistry } from "@reins/runner";
import { StoreError } from "@reins/store";
import type { Harness, Principal } from "@reins/supervisor";
import { CommandService } from "../commands/command-service.ts";
import {
  agentInstall,
  type CallerChange,
  type GovernedInstall,
  governCaller,
} from "../control/caller-scope.ts";
import type { Waiting } from "../control/enforce.ts";
import { CallerAccess } from "../files/caller-access.ts";
import { FileService } from "../files/file-service.ts";
import { SetAside } from "../files/set-aside.ts";
import { TenantRoom } from "../files/tenant-room.ts";
import type { TurnPreparation } from "../governor/context.ts";
import { SessionFolders } from "../governor/session-folders.ts";
import { GraphRuns, type GraphSettings } from "../graph/graph-runs.ts";
import { Protocol } from "../graph/protocol.ts";
import { NATIVE_AGENT } from "../graph/run-place.ts";
import { renewGraphSeals } from "../graph/sealed-artifacts.ts";
import { HookSessions } from "../hooks/hook-sessions.ts";
import { Hub } from "../hub/hub.ts";
import type { ReaperOptions } from "../hub/reaper.ts";
import { Kills } from "../kill/kills.ts";
import { EventLog } from "../log/event-log.ts";
import type { Hole } from "../log/logged-event.ts";
import { FolderServers } from "../mcp/folder-servers.ts";
import { SealedLogins } from "../mcp/sealed-logins.ts";
import { ToolPins } from "../mcp/tool-pins.ts";
import { Daemons } from "../native/daemons.ts";
import { Subagents } from "../native/subagents.ts";
import { Worktrees } from "../native/worktrees.ts";
import { FileSnapshots, type SnapshotPlace } from "../rewind/file-snapshots.ts";
import { Rewinds } from "../rewind/rewind.ts";
import { renewSessionSeals } from "../sessions/sessions.ts";
import { SkillLibrary, type SkillSettings } from "../skills/skill-library.ts";
import { ConstitutionalPreparation } from "../turn/turn-context.ts";
import { TurnOffers } from "../turn/turn-offers.ts";
import { AgentHost, type AgentHostOptions } from "./agent-host.ts";
import type { ModelAccess } from "./model-access.ts";

/** What an operator configures. The store of the harness holds `hostTables` too. */
export interface HostingOptions
  extends ReaperOptions,
    Pick<
      AgentHostOptions,
      | "harness"
      | "admit"
      | "levelFor"
      | "environment"
      | "networkFor"
      | "passFor"
      | "serversFor"
      | "declares"
      | "modelFor"
      | "cancelGraceMs"
      | "native"
      | "sandbox"
      | "userHome"
      | "messaging"
      | "tap"
    > {
  /** Finds an install, or makes one by `govern`, which has it decided first. */
  readonly install: (entry: AgentEntry, govern: InstallGovernor) => Promise<InstalledAgent>;
  /** The agents that can be run; by default those that Reins knows, and `agents`. */
  readonly catalogue?: Catalogue;
  /** Agents that the operator adds to the catalogue. */
  readonly agents?: readonly unknown[];
  /** Whether an agent is installed, so that no agent has another one installed; by default each is. */
  readonly isInstalled?: (entry: AgentEntry) => Promise<boolean>;
  /** The folder of sessions that name none; all users of the default tenant work in it. */
  readonly workspace?: string | undefined;
  /** The folders that the operator gave to tenants, absolute; a tenant without any has one made for it. */
  readonly tenants?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Where skills are found, and how they are used. */
  readonly skills?: SkillSettings | undefined;
  /** Pipelines and services that action graphs may use. */
  readonly graphs?: GraphSettings | undefined;
  /** The gateway to models, and which agents use it. */
  readonly models?: ModelAccess | undefined;
  /** Whether agents can be killed from outside, by a socket in the home, while this process is busy. */
  readonly killSocket?: boolean;
  /** Receives errors of background work. */
  readonly onError?: (error: unknown) => void;
}

/** Has an install decided, and runs it. */
export type InstallGovernor = <Value>(install: GovernedInstall, run: () => Promise<Value>) => Promise<Value>;

/** Everything that runs agents in a home: catalogue, processes, sessions and their clients. */
export class Hosting {
  readonly catalogue: Catalogue;
  readonly host: AgentHost;
  readonly hub: Hub;
  /** The sessions of agents in terminals, whose hooks ask over AHP. */
  readonly hooks: HookSessions;
  /** Runs of action graphs. */
  readonly graphs: GraphRuns;
  /** The dialogue of models with their runtime. */
  readonly protocol: Protocol;
  /** The tools of turns. */
  readonly offers: TurnOffers;
  /** The skills of folders. */
  readonly skills: SkillLibrary;
  /** The files of callers of the API. */
  readonly files: FileService;
  /** Takes sessions back to before a turn. */
  readonly rewinds: Rewinds;
  /** The MCP servers that users stored for folders. */
  readonly folderServers: FolderServers;
  /** Has a change of a principal decided, such as the install of an agent, and makes it. */
  readonly governChange: <Value>(
    principal: Principal,
    change: CallerChange,
    run: () => Promise<Value>,
    waiting?: Waiting,
  ) => Promise<Value>;
  /** The commands of callers of the API. */
  readonly commands: CommandService;
  /** Removes secrets from what is stored or shown. */
  readonly redact: (value: unknown) => unknown;
  /** The agents that run. */
  readonly register: ProcessRegistry;
  /** Kills agents on request; absent where that is not configured. */
  readonly kills: Kills | undefined;
  readonly #gateway: McpGateway;
  readonly #models: ModelAccess | undefined;

  private constructor(
    parts: Pick<
      Hosting,
      | "catalogue"
      | "host"
      | "hub"
      | "graphs"
      | "protocol"
      | "offers"
      | "skills"
      | "files"
      | "rewinds"
      | "folderServers"
      | "governChange"
      | "commands"
      | "redact"
      | "register"
      | "kills"
    >,
    gateway: McpGateway,
    models: ModelAccess | undefined,
  ) {
    this.catalogue = parts.catalogue;
    this.host = parts.host;
    this.hub = parts.hub;
    this.hooks = new HookSessions(parts.hub, parts.host.folders);
    this.graphs = parts.graphs;
    this.protocol = parts.protocol;
    this.offers = parts.offers;
    this.skills = parts.skills;
    this.files = parts.files;
    this.rewinds = parts.rewinds;
    this.folderServers = parts.folderServers;
    this.governChange = parts.governChange;
    this.commands = parts.commands;
    this.redact = parts.redact;
    this.register = parts.register;
    this.kills = parts.kills;
    this.#gateway = gateway;
    this.#models = models;
  }

  /** Opens hosting in the home of a harness. What earlier runs left running is ended first. */
  static async open(options: HostingOptions): Promise<Hosting> {
    const { harness, messaging, userHome = homedir(), onError = () => undefined } = options;
    const late = Promise.withResolvers<Hub>();
    const register = new ProcessRegistry();
    // Its thread is started while the rest is opened.
    const killing = options.killSocket
      ? Kills.open({
          ...{ harness, hub: late.promise, register, onError },
          onEnding: (sessions) => graphs?.endRuns(sessions),
        })
      : undefined;
    killing?.catch(() => undefined);
    let gateway: McpGateway | undefined;
    let graphs: GraphRuns | undefined;
    let opened: Pick<Hub, "close"> | undefined;
    try {
      const owner = new Owner(harness.home);
      const swept = owner.sweepStrays();
      // What other nodes have taken is not theirs to put back.
      if (!harness.store.node) await messaging?.recover();
      swept.catch(() => undefined);
      const catalogue = options.catalogue ?? Catalogue.load(options.agents);
      const logins = new SealedLogins(harness.home, harness.vault);
      gateway = await McpGateway.open({ owner, redactor: harness.redactor, logins });
      const pins = new ToolPins(harness);
      const offers = new TurnOffers(harness);
      const skills = new SkillLibrary({
        ...{ harness, settings: options.skills, environment: options.environment },
      });
      const { isInstalled = async () => true } = options;
      const worktrees = new Worktrees(harness.home);
      // Listed before a worker can make one.
      const leftover = await worktrees.list();
      const subagents = new Subagents({
        ...{ harness, catalogue, hub: late.promise, onError, isInstalled, worktrees },
      });
      const { home } = harness;
      const snapshots = new FileSnapshots({ home, onError });
      const runs = new GraphRuns({
        ...{ harness, catalogue, messaging, subagents, isInstalled, onError, register, gateway, pins },
        snapshots,
        settings: options.graphs,
        caughtUpWithKills: async () => (await killing)?.caughtUp(),
        hub: late.promise,
        host: () => host,
      });
      graphs = runs;
      const protocol = new Protocol({ harness, hub: late.promise, runs });
      const folders = new SessionFolders({ ...options, userHome });
      const access = new CallerAccess({
        ...{ harness, folders, onError, hub: () => late.promise },
      });
      const { quotas } = harness;
      const rootsOf = async (principal: Principal) => (await folders.callerPlace(principal)).roots;
      const room = new TenantRoom({ quotas, rootsOf });
      const setAside = new SetAside(harness.home, onError);
      await setAside.recover();
      const files = new FileService({ access, room, setAside, onError });
      const rewinds = new Rewinds({
        ...{ home, access, room, snapshots, hub: () => late.promise },
        declares: async ({ tenant, id }) =>
          (await runs.transcripts.turns({ tenant, session: id })).length > 0,
        actsIn: ({ tenant, id }) => runs.isBusy(tenant, id),
      });
      const folderServers = await FolderServers.open(harness.home);
      const governChange: Hosting["governChange"] = (principal, change, run, waiting) =>
        governCaller({ harness, onError }, principal, change, run, waiting);
      const commands = new CommandService({
        ...{ access, owner, register, onError, quotas, room, sandbox: options.sandbox },
        environment: async () => (await import("@reins/agent")).commandEnvironment(options.environment),
        confinementFor: (principal, { roots }) => {
          const confine = { roots, network: host.networkFor(NATIVE_AGENT) ?? "off" };
          return host.homes.forCommands(catalogue.entry(NATIVE_AGENT), { principal, confine });
        },
      });
      const host: AgentHost = new AgentHost({
        ...options,
        install: (entry, principal) =>
          options.install(entry, (planned, run) => governChange(principal, agentInstall(planned), run)),
        protocol,
        ...{ catalogue, owner, gateway, pins, userHome, offers, register, skills, snapshots },
        folders,
        subagents,
        preparationFor: preparations(options, { offers, skills }, onError),
        onFault: (agent, reason) => onError(new Error(`${agent}: ${reason}`)),
      });
      await renewGraphSeals(harness.store, harness.vault);
      await logins.renew();
      await renewSessionSeals({ store: harness.store, vault: harness.vault, onError });
      const log = await openLog(harness, onError);
      opened = log;
      const idleScheduler = (hub: Hub) => new Daemons({ hub, harness, onError });
      const prune = async (before: Date) => {
        await runs.prune(before);
        await snapshots.prune(async () => true, before);
      };
      const hub = await Hub.open({
        ...options,
        host,
        log,
        files,
        folderServers,
        idleScheduler,
        prune,
        onError,
      });
      opened = hub;
      late.resolve(hub);
      hub.watch(({ tenant, id: session, ended }) => {
        if (ended) snapshots.remove({ tenant, session }).catch(onError);
      });
      const isOpen = async ({ tenant, session }: SnapshotPlace) => {
        const record = await hub.sessions.read(session, tenant);
        return record !== undefined && record.ended === undefined;
      };
      snapshots.prune(isOpen).catch(onError);
      await swept;
      await runs.resume();
      const { tenant: own } = harness.identity.local();
      hub.tenants.listen({ adopted: async (tenant) => tenant === own && messaging?.recover() });
      worktrees.prune(leftover).catch(onError);
      const kills = await killing;
      const { redact } = harness;
      return new Hosting(
        {
          catalogue,
          host,
          hub,
          graphs: runs,
          protocol,
          offers,
          skills,
          files,
          rewinds,
          folderServers,
          commands,
          redact,
          register,
          kills,
          governChange,
        },
        gateway,
        options.models,
      );
    } catch (error) {
      await opened?.close().catch(onError);
      await gateway?.close();
      const kills = await killing?.catch(() => undefined);
      await kills?.close();
      throw error;
    }
  }

  /** Stops agents, MCP servers and connections. Sessions stay stored. */
  async close(): Promise<void> {
    await this.commands.close();
    await this.graphs.close();
    await this.hub.close();
    await this.#gateway.close();
    await this.#models?.close();
    await this.kills?.close();
  }
}

/** Gated tools, mail, mandate and constitution before the prompts of each tenant. */
function preparations(
  { harness, messaging }: Pick<HostingOptions, "harness" | "messaging">,
  parts: { readonly offers: TurnOffers; readonly skills: SkillLibrary },
  onError: (error: unknown) => void,
): (tenant: string) => TurnPreparation {
  const known = new Map<string, TurnPreparation>();
  return (tenant) => {
    const preparation =
      known.get(tenant) ??
      new ConstitutionalPreparation({
        harness,
        ...parts,
        messaging: messaging?.forTenant(tenant),
        onFault: (reason) => onError(new Error(reason)),
      });
    known.set(tenant, preparation);
    return preparation;
  };
}

function waitReason(error: unknown): string {
  const isAway = error instanceof StoreError && error.code === "unavailable";
  return isAway ? "there is no connection to the database" : "there is no room on the disk";
}

/** Opens the log of a home. Records lost messages in the ledger too. */
async function openLog(harness: Harness, onError: (error: unknown) => void): Promise<EventLog> {
  const holes: Hole[] = [];
  const log = await EventLog.open({
    store: harness.store,
    now: Date.now,
    // Another node may go on with the log.
    ...(!harness.store.node && { journal: harness.home }),
    onLost: (hole) => void holes.push(hole),
    onFull: (isFull, error) =>
      onError(
        isFull
          ? new Error(`${waitReason(error)}: messages wait until there is`, { cause: error })
          : new Error("messages can be stored again: nothing waits any more"),
      ),
  });
  if (holes.length === 0) return log;
  for (const { tenant, first, last } of holes)
    onError(
      new Error(`messages ${first} to ${last} of ${tenant} are gone: the journal was damaged or cut off`),
    );
  await harness.ledger.record([
    {
      quality: "session_lifecycle",
      actor: SYSTEM,
      target: SYSTEM,
      tags: ["server"],
      payload: { event: "loss", messages: holes.map((hole) => ({ ...hole })) },
    },
  ]);
  return log;
}
