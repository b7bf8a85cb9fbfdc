import { homedir } from "node:os";
import { join } from "node:path";
import { type Channel, channelPair } from "@reins/acp";
import {
  Advisor,
  type AdvisorOptions,
  allTools,
  type CommandRunner,
  type ConversationRewind,
  type ConversationTurn,
  conversationTurns,
  FileSessionStore,
  type HostServices,
  type KnownModel,
  modelConfigFrom,
  modelsFrom,
  NativeAgent,
  type OpenedFile,
  type Price,
  type ProtocolService,
  type SnapshotService,
  type SubagentService,
  type ToolSearchSettings,
  type ToolView,
} from "@reins/agent";
import type { AgentEntry } from "@reins/agents";
import { type ModelPrice, PriceList } from "@reins/gateway";
import type { Harness, NetworkReach, Principal, Subject } from "@reins/supervisor";
import { agentOf, subjectIn } from "../control/control-point.ts";
import { isAllowedUnasked } from "../control/enforce.ts";
import { NATIVE } from "../control/scope.ts";
import { StandingVerdicts, seeFile } from "../control/standing-verdicts.ts";
import type { GovernorOptions } from "../governor/context.ts";
import type { GovernedSession } from "../governor/governed-session.ts";
import { Governor } from "../governor/governor.ts";
import { reachesAll } from "../governor/session-folders.ts";
import type { Protocol } from "../graph/protocol.ts";
import type { FileSnapshots } from "../rewind/file-snapshots.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { SkillLibrary } from "../skills/skill-library.ts";
import type { TenantMessaging } from "../turn/messaging.ts";
import type { TurnOffers } from "../turn/turn-offers.ts";
import { proseOf, userMemory } from "./advisers.ts";
import { webService } from "./fetch-web.ts";
import { GovernedControl } from "./governed-control.ts";
import type { Subagents } from "./subagents.ts";

/** What an operator may want of the native agent otherwise than by default. */
export type NativeSettings = Pick<AdvisorOptions, "idle" | "patience" | "presence"> & {
  /** What models cost, in place of the table of the gateway. */
  readonly prices?: Readonly<Record<string, ModelPrice>>;
  /** What all other models are counted as; limits on cost refuse them where it is absent. */
  readonly unknownPrice?: ModelPrice | undefined;
  /** Its models: the one of new sessions, what is known of them, and which are asked when one cannot be used. */
  readonly models?: {
    readonly model?: string | undefined;
    readonly known?: Readonly<Record<string, KnownModel>> | undefined;
    readonly fallbacks?: readonly string[] | undefined;
  };
  /** Variables of commands, beside those that are passed to it. */
  readonly environment?: Readonly<Record<string, string>>;
  /** How many tools are kept out of prompts and found. */
  readonly toolSearch?: Partial<ToolSearchSettings>;
};

/** What the native agent is started with. */
export interface NativeOptions {
  readonly harness: Harness;
  readonly entry: AgentEntry;
  readonly principal: Principal;
  /** Names the model, and holds its key. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The tools of turns, where clients have a say in them. */
  readonly offers?: TurnOffers | undefined;
  /** The mail and the board of the tenant. */
  readonly messaging?: TenantMessaging | undefined;
  /** What the operator wants of it otherwise than by default. */
  readonly settings?: NativeSettings | undefined;
  /** Runs commands; those of this process when absent. */
  readonly commands?: CommandRunner | undefined;
  /** Whether the operating system confines commands, and the home that they then have. */
  readonly confined?: { readonly home: string; readonly network: NetworkReach } | undefined;
  /** The home folder of who runs Reins. */
  readonly userHome?: string | undefined;
  /** What it declares action graphs with; it cannot where it is absent. */
  readonly protocol?: Protocol | undefined;
  /** The skills of folders; none where it is absent. */
  readonly skills?: SkillLibrary | undefined;
  /** Where children are started; none can be where it is absent. */
  readonly subagents?: Subagents | undefined;
  /** Wraps its channel, so that messages can be observed. */
  readonly tapped?: ((channel: Channel, governor: () => Governor) => Channel) | undefined;
  readonly governor: Pick<
    GovernorOptions,
    | "from"
    | "clients"
    | "folders"
    | "servers"
    | "configured"
    | "pins"
    | "preparation"
    | "snapshots"
    | "isMetered"
    | "showReplays"
    | "onFault"
    | "onSessions"
  >;
}

/** Starts the native agent in this process, behind a governor: there is no other way to run it. */
export function startNative(options: NativeOptions): {
  readonly governor: Governor;
  /** Describes the tools that a session may use now, by the agent's id of it. */
  tools(sessionId: string, signal: AbortSignal): Promise<ToolView | undefined>;
  /** Takes the conversation of a session back, by the agent's id of it; returns whether there was that turn. */
  rewind(sessionId: string, rewind: ConversationRewind): Promise<boolean>;
  stop(reason: string): Promise<void>;
} {
  const { harness, entry, principal, environment, offers, subagents, commands, confined, settings } = options;
  const { messaging, userHome = homedir() } = options;
  const { home } = harness;
  const { tenant, user } = principal;
  const { governor: rest } = options;
  const onFault = rest.onFault ?? (() => undefined);
  const [ours, theirs, close] = channelPair();
  const governor: Governor = new Governor({
    ...rest,
    harness,
    entry,
    launch: {
      mode: undefined,
      configOptions: {},
      meta: {},
      strip: [],
      ...(confined && { env: { HOME: confined.home } }),
    },
    channel: options.tapped?.(ours, () => governor) ?? ours,
    principal,
    enforcement: "performed",
    ...(confined && {
      enforcementOf: (tool) => (tool === "run_command" ? "confined" : undefined),
      network: confined.network,
    }),
    profile: NATIVE,
    stop: (reason) => void stop(reason).catch((error: unknown) => onFault(String(error))),
  });
  const subjectOf = (id: string) => {
    const session = governor.sessionOf(id);
    return session && subjectIn(session, "performed");
  };
  const spawn = subagents && spawner(subagents, governor, { principal, entry });
  // A dry run is enough: it only takes files away from a search that was decided.
  const mayRead = async (id: string, path: string) => {
    const session = governor.sessionOf(id);
    if (!session) return false;
    return isAllowedUnasked(session, { tool_name: "read_file", arguments: { path } });
  };
  const standing = new StandingVerdicts(harness);
  const mayPerceive = async (id: string, path: string, opened?: OpenedFile) => {
    const session = governor.sessionOf(id);
    if (!session) return false;
    const { state, files } = await seeFile(session.workspace.cwd, path, opened);
    const point = {
      kind: "file_access",
      tool: "read_file",
      arguments: { path },
      isUnattended: true,
      files,
    } as const;
    return (await standing.enforce(session, point, state)).isAllowed;
  };
  const services = nativeServices({
    ...{ messaging, subjectOf, offers, spawn, mayRead },
    snapshots: rest.snapshots && snapshotsIn(rest.snapshots, tenant, (id) => governor.sessionOf(id)),
    workerOf: (id) => governor.sessionOf(id)?.descent?.worker,
    offersBridge: (id, method) => governor.sessionOf(id)?.clients.whoServes?.(method, {}) !== undefined,
    native: entry.id,
    web: webFor(principal, confined?.network),
    skills: options.skills?.serviceFor((id) => ({
      principal,
      roots: governor.sessionOf(id)?.workspace.roots ?? [],
    })),
    protocol: (nameOf) => options.protocol?.serviceFor(tenant, nameOf),
  });
  const memory = userMemory(harness, principal);
  offers?.declare(entry.id, allTools(services, memory));
  const models = modelsOf(environment, settings);
  const agent = new NativeAgent(theirs, {
    store: storeOf(home, { tenant, user, principal: principal.id, agent: entry.id }),
    models,
    instructions: (id) => governor.sessionOf(id)?.instructions,
    control: new GovernedControl({
      governor: () => governor,
      harness,
      standing,
      principal,
      defaults: new Advisor({
        memory,
        constitution: () => proseOf(harness, tenant),
        mayRead:
          (_, { sessionId = "" }) =>
          (path, opened) =>
            mayPerceive(sessionId, path, opened),
        // The files of who runs Reins are not for the agents of others.
        ownInstructions: reachesAll(principal) ? join(userHome, ".config", "reins", "AGENTS.md") : undefined,
        ...settings,
      }),
      isPriced: (model) => models.open(model).info.price !== undefined,
      onFault,
    }),
    services,
    memory,
    ...(settings?.toolSearch && { toolSearch: settings.toolSearch }),
    ...(commands && { commands }),
    mayUse: (tool, id) => {
      const subject = subjectOf(id);
      if (!subject || governor.sessionOf(id)?.descent?.tools?.includes(tool) === false) return false;
      return offers?.mayUse(subject.session, tool) ?? harness.supervisor.mayUse(tool, subject);
    },
    onFault: (fault) => onFault(String(fault)),
  });
  const stop = (reason: string) =>
    governor.close(reason, async () => {
      await agent.close(reason);
      close(new Error(reason));
    });
  return {
    governor,
    tools: (id, signal) => agent.tools(id, signal),
    rewind: (id, rewind) => agent.rewind(id, rewind),
    stop,
  };
}

/** The conversations of a principal with the native agent. */
function storeOf(
  home: string,
  { tenant, user, principal, agent }: Pick<SessionRecord, "tenant" | "user" | "principal" | "agent">,
): FileSessionStore {
  return new FileSessionStore(join(home, "homes", tenant, user, principal, agent));
}

/** The turns of a session of the native agent, also while it is not open. */
export async function nativeTurns(home: string, record: SessionRecord): Promise<readonly ConversationTurn[]> {
  const stored = await storeOf(home, record).read(record.agent_session_id);
  return stored ? conversationTurns(stored.entries) : [];
}

/** The models of the environment, with what the operator says of them; the environment has the last word. */
function modelsOf(
  environment: NativeOptions["environment"],
  { models, prices = {}, unknownPrice }: NativeSettings = {},
) {
  const config = modelConfigFrom(environment);
  const { model = models?.model } = config;
  const own = Object.fromEntries(Object.entries(prices).map(([name, price]) => [name, priceOf(price)]));
  return modelsFrom({ ...config, ...models, model }, own, (name) => {
    const price = LISTED.priceOf(name) ?? unknownPrice;
    return price && priceOf(price);
  });
}

const LISTED = new PriceList();

/** A price of the gateway as the agent has it. */
function priceOf({ above, ...rates }: ModelPrice): Price {
  return { ...ratesOf(rates), ...(above && { above: { ...ratesOf(above), tokens: above.tokens } }) };
}

function ratesOf({ input, output, cache_read, cache_write }: ModelPrice): Price {
  return { input, output, cacheRead: cache_read, cacheWrite: cache_write };
}

/** Starts children of the sessions that a governor knows. */
function spawner(
  subagents: Subagents,
  governor: Governor,
  { principal, entry }: Pick<NativeOptions, "principal" | "entry">,
): SubagentService["run"] {
  return (task, signal) => {
    const session = governor.sessionOf(task.sessionId);
    if (!session) throw new Error("the session that wants it is not open");
    const agent = agentOf(session);
    return subagents.run({ session, principal, agent, fallback: entry.id }, task, signal);
  };
}

/** What the services of the native agent need. */
interface NativeServicesOptions {
  /** The mail and the board of the agent's tenant; it has no tools for them if absent. */
  readonly messaging?: TenantMessaging | undefined;
  /** For whom a session acts, as the harness knows it; `undefined` for one that is not open. */
  readonly subjectOf: (sessionId: string) => Pick<Subject, "agent" | "session"> | undefined;
  /** The tools of turns, where clients have a say in them. */
  readonly offers?: TurnOffers | undefined;
  /** The worker that a session is, where another session started it. */
  readonly workerOf: NonNullable<HostServices["workerOf"]>;
  /** Whether a client of a session offers a method of the bridge. */
  readonly offersBridge: NonNullable<HostServices["offersBridge"]>;
  /** The id of the native agent. */
  readonly native: string;
  /** Whether a search of a session may show a file without asking a person. */
  readonly mayRead?: HostServices["mayRead"];
  /** The service for action graphs, by the names that this agent has for sessions. */
  readonly protocol?: (nameOf: (sessionId: string) => string) => ProtocolService | undefined;
  /** The skills of folders. */
  readonly skills?: HostServices["skills"] | undefined;
  /** Keeps what files were before they are changed. */
  readonly snapshots?: SnapshotService | undefined;
  /** Fetches pages of the web; none are fetched where it is absent. */
  readonly web?: HostServices["web"] | undefined;
  /** Has a child of a session do something; none can where it is absent. */
  readonly spawn?: SubagentService["run"] | undefined;
}

/** Mail, board and subagents, each session in the name of the agent that it acts as, and the tools of its client. */
function nativeServices(options: NativeServicesOptions): HostServices {
  const { messaging, subjectOf, offers, native, spawn, mayRead, skills, web } = options;
  const { workerOf, offersBridge, snapshots } = options;
  const subjectIn = (sessionId: string) => {
    const subject = subjectOf(sessionId);
    if (subject) return subject;
    throw new Error(`there is no session ${sessionId}`);
  };
  const agentIn = (sessionId: string) => subjectIn(sessionId).agent;
  const nameOf = (id: string) => subjectIn(id).session;
  const protocol = options.protocol?.(nameOf);
  return {
    nameOf,
    workerOf,
    offersBridge,
    ...(web && { web }),
    ...(snapshots && { snapshots }),
    ...(protocol && { protocol }),
    ...(skills && { skills }),
    ...(mayRead && { mayRead }),
    ...(spawn && { subagents: { run: spawn } }),
    ...(messaging && messagingTools(messaging, agentIn)),
    ...(offers && {
      clientTools: {
        offered: (id) =>
          offers.clientTools(subjectIn(id).session, native).map(({ input_schema: parameters, ...tool }) => ({
            ...tool,
            parameters,
          })),
        call: (id, name, input, signal) => offers.call(subjectIn(id).session, name, input, signal),
      },
    }),
  };
}

/** Keeps what files were before a session changes them, by the names that its agent has for sessions. */
function snapshotsIn(
  snapshots: Pick<FileSnapshots, "change">,
  tenant: string,
  sessionOf: (sessionId: string) => GovernedSession | undefined,
): SnapshotService {
  return {
    change: async (id, turn, change, run) => {
      const found = sessionOf(id);
      if (!found) throw new Error(`there is no session ${id}`);
      const kept = found.descent?.keptWith ?? { session: found.id, turn };
      return snapshots.change({ tenant, session: kept.session }, kept.turn, change, run);
    },
  };
}

/** The tools for the mail and the board of a tenant, in the name of an agent. */
export function messagingTools(
  { mailbox, board }: TenantMessaging,
  agentIn: (sessionId: string) => string,
): Pick<HostServices, "mail" | "board"> {
  return {
    mail: {
      send: (id, message) => mailbox.send({ from: agentIn(id), ...message }),
      unread: async (id) => {
        const unread = await mailbox.unreadFor(agentIn(id));
        return unread.map(({ from, subject, body, timestamp }) => ({ from, subject, body, timestamp }));
      },
    },
    board: {
      read: (_, lines) => board.read(lines),
      post: (id, content) => board.post(agentIn(id), content),
    },
  };
}

/**
 * The web as an agent may see it. Pages are fetched by this process: what confines commands would not hold there, and other
 * people's agents have no business with what listens on this machine.
 */
function webFor(principal: Principal, network: NetworkReach = "open"): HostServices["web"] | undefined {
  if (network !== "open") return undefined;
  return webService(reachesAll(principal) ? "machine" : "internet");
}
