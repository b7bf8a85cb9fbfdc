import {
  CODE,
  isObject,
  type JsonObject,
  membersOf,
  metaOf,
  RpcError,
  readResult,
  SANDBOX,
} from "@reins/acp";
import type { Principal } from "@reins/supervisor";
import { FILE_EXTENSIONS, serveFileMethod } from "../files/file-extensions.ts";
import { noSession } from "../sessions/session.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { Connection } from "./connection.ts";
import type { Hub } from "./hub.ts";

/** The methods by which clients list and install agents, where the server has an admin API. */
const AGENT_EXTENSIONS = {
  agentList: "_sandboxagent/agent/list",
  agentInstall: "_sandboxagent/agent/install",
} as const;

/** Lists and installs agents as `/v1/agents` does. Rejects with an {@link RpcError}. */
export interface AgentMethods {
  list(principal: Principal): Promise<JsonObject>;
  install(principal: Principal, params: JsonObject): Promise<JsonObject>;
}

/** The methods beside ACP's own that every session has, by the capability that announces each. */
export const EXTENSIONS = {
  sessionDetach: "_sandboxagent/session/detach",
  sessionTerminate: "_sandboxagent/session/terminate",
  sessionListModels: "_sandboxagent/session/list_models",
  sessionSetMetadata: "_sandboxagent/session/set_metadata",
  sessionList: "_sandboxagent/session/list",
  sessionGet: "_sandboxagent/session/get",
  ...FILE_EXTENSIONS,
  ...AGENT_EXTENSIONS,
} as const;

const MAX_METADATA = 64 * 1024;
const MOST_LISTED = 1_000;

type Extension = (
  hub: Hub,
  connection: Connection,
  params: JsonObject,
  signal: AbortSignal,
) => Promise<JsonObject>;

const HANDLERS: ReadonlyMap<string, Extension> = new Map<string, Extension>([
  [EXTENSIONS.sessionDetach, detach],
  [EXTENSIONS.sessionTerminate, terminate],
  [EXTENSIONS.sessionListModels, listModels],
  [EXTENSIONS.sessionSetMetadata, setMetadata],
  [EXTENSIONS.sessionList, list],
  [EXTENSIONS.sessionGet, get],
  [EXTENSIONS.agentList, (hub, { principal }) => agentMethods(hub).list(principal)],
  [EXTENSIONS.agentInstall, (hub, { principal }, params) => agentMethods(hub).install(principal, params)],
  ...Object.values(FILE_EXTENSIONS).map((method): [string, Extension] => [method, fileExtension(method)]),
]);

function fileExtension(method: string): Extension {
  return async ({ files }, { principal }, params, signal) => {
    if (!files) throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
    return serveFileMethod(files, { principal, signal }, method, params);
  };
}

function agentMethods({ agents }: Hub): AgentMethods {
  if (agents) return agents;
  throw new RpcError(CODE.methodNotFound, "agents are not managed here");
}

const UNLIMITED = new AbortController().signal;

/** Whether a method is one of the extensions. */
export function isExtension(method: string): boolean {
  return HANDLERS.has(method);
}

/** Answers an extension. */
export function extend(
  hub: Hub,
  connection: Connection,
  method: string,
  params: JsonObject,
  signal: AbortSignal = UNLIMITED,
): Promise<JsonObject> {
  const handler = HANDLERS.get(method);
  if (handler) return handler(hub, connection, params, signal);
  throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
}

async function detach(_: Hub, connection: Connection, params: JsonObject): Promise<JsonObject> {
  connection.detach(sessionIn(params));
  return {};
}

async function terminate(hub: Hub, { principal }: Connection, params: JsonObject): Promise<JsonObject> {
  const id = sessionIn(params);
  const terminated = await hub.terminate(principal, id);
  const alreadyEnded = !terminated && (await hub.find(principal, id)) !== undefined;
  return { terminated, alreadyEnded, reason: "terminated", terminatedBy: "daemon" };
}

async function listModels(hub: Hub, { principal }: Connection, params: JsonObject): Promise<JsonObject> {
  const { sessionId, agent } = params;
  if (sessionId === undefined && typeof agent !== "string")
    throw new RpcError(CODE.invalidParams, "list_models needs a sessionId or an agent");
  const settings =
    sessionId === undefined
      ? await hub.settingsOfAgent(principal, String(agent))
      : hub.settingsOf((await expected(hub, principal, params)).id);
  return { availableModels: [], currentModelId: null, ...modelsOf(settings) };
}

async function setMetadata(hub: Hub, { principal }: Connection, params: JsonObject): Promise<JsonObject> {
  const record = await expected(hub, principal, params);
  const { metadata = metaOf(params)[SANDBOX] } = params;
  if (!isObject(metadata))
    throw new RpcError(CODE.invalidParams, `set_metadata needs metadata, or _meta["${SANDBOX}"]`);
  if (JSON.stringify({ ...record.metadata, ...metadata }).length > MAX_METADATA)
    throw new RpcError(
      CODE.invalidParams,
      `the metadata of a session has at most ${MAX_METADATA} characters`,
    );
  await hub.annotate(record, metadata);
  return {};
}

async function list(hub: Hub, { principal }: Connection): Promise<JsonObject> {
  const records = await hub.list(principal, { limit: MOST_LISTED });
  return { sessions: (await infoOf(hub, records)).toSorted(byId) };
}

async function get(hub: Hub, { principal }: Connection, params: JsonObject): Promise<JsonObject> {
  const [info = {}] = await infoOf(hub, [await expected(hub, principal, params)]);
  return info;
}

async function infoOf(hub: Hub, records: readonly SessionRecord[]): Promise<JsonObject[]> {
  const [first] = records;
  if (!first) return [];
  const ids = records.map(({ id }) => id);
  const counts = await hub.countsOf(first.tenant, ids);
  return records.map((record) =>
    sessionInfo(record, { settings: hub.settingsOf(record.id), events: counts.get(record.id) ?? 0 }),
  );
}

function byId(one: JsonObject, other: JsonObject): number {
  return String(one.sessionId) < String(other.sessionId) ? -1 : 1;
}

function sessionIn({ sessionId }: JsonObject): string {
  if (typeof sessionId === "string") return sessionId;
  throw new RpcError(CODE.invalidParams, "a sessionId is needed");
}

async function expected(hub: Hub, principal: Principal, params: JsonObject): Promise<SessionRecord> {
  const id = sessionIn(params);
  const record = await hub.find(principal, id);
  if (record) return record;
  throw noSession(id);
}

interface SessionKnowledge {
  /** Its modes, models and config options, as far as its agent listed them. */
  readonly settings: JsonObject;
  /** How many messages of it are stored. */
  readonly events: number;
}

/** A session as `_sandboxagent/session/get` returns it. */
function sessionInfo(record: SessionRecord, { settings, events }: SessionKnowledge): JsonObject {
  const { metadata, ended, title } = record;
  const { currentModeId } = readResult("session/new", settings).modes;
  const model = modelsOf(settings)?.currentModelId ?? metadata.model;
  return {
    sessionId: record.id,
    agent: record.agent,
    agentMode: currentModeId ?? metadata.mode ?? "build",
    permissionMode: metadata.permissionMode ?? "default",
    ...(model != null && { model }),
    nativeSessionId: record.agent_session_id,
    ended: ended !== undefined,
    eventCount: events,
    createdAt: Date.parse(record.created_at),
    updatedAt: Date.parse(record.last_activity),
    directory: record.cwd,
    ...(title !== undefined && { title }),
    metadata,
    ...(ended && {
      terminationInfo: {
        reason: ended.reason,
        terminatedBy: ended.terminated_by,
        ...(ended.message !== undefined && { message: ended.message }),
      },
    }),
  };
}

/** A session as `session/list` returns it, with how many messages of it are stored. */
function listedSession(record: SessionRecord, eventCount: number): JsonObject {
  const { id, cwd, additional_directories, title, last_activity, created_at, agent, metadata } = record;
  const { model } = metadata;
  return {
    sessionId: id,
    cwd,
    ...(additional_directories.length > 0 && { additionalDirectories: additional_directories }),
    ...(title !== undefined && { title }),
    updatedAt: last_activity,
    _meta: {
      reins: { agent, metadata, state: record.state, mode: record.mode },
      [SANDBOX]: {
        agent,
        createdAt: Date.parse(created_at),
        updatedAt: Date.parse(last_activity),
        ended: record.ended !== undefined,
        eventCount,
        ...(model !== undefined && { model }),
      },
    },
  };
}

const PAGE = 200;

/** A page of the sessions that a principal may see and that are open, as `session/list` returns them. */
export async function listingOf(
  hub: Pick<Hub, "list" | "countsOf">,
  principal: Principal,
  { cwd, cursor }: JsonObject,
): Promise<JsonObject> {
  const range = {
    open: true,
    limit: PAGE + 1,
    ...(typeof cwd === "string" && { cwd }),
    ...(typeof cursor === "string" && { after: cursor }),
  };
  const records = await hub.list(principal, range);
  const page = records.slice(0, PAGE);
  const nextCursor = records.length > PAGE ? page.at(-1)?.id : undefined;
  const ids = page.map(({ id }) => id);
  const counts = await hub.countsOf(principal.tenant, ids);
  const sessions = page.map((record) => listedSession(record, counts.get(record.id) ?? 0));
  return { sessions, nextCursor: nextCursor ?? null };
}

/** The response of an agent to `initialize`, with the capabilities that the hub adds to every agent. */
export function withCapabilities(initialized: JsonObject, { managesAgents = false } = {}): JsonObject {
  const own = membersOf(initialized.agentCapabilities);
  const known = Object.entries(EXTENSIONS).filter(
    ([name]) => managesAgents || !Object.hasOwn(AGENT_EXTENSIONS, name),
  );
  const flags = known.map(([name]) => [name, true]);
  const extensions = {
    ...Object.fromEntries(flags),
    sessionEndedNotification: true,
    sessionAgentMeta: true,
    methods: known.map(([, method]) => method),
  };
  const agentCapabilities = {
    ...own,
    loadSession: true,
    sessionCapabilities: {
      ...membersOf(own.sessionCapabilities),
      list: {},
      resume: {},
      close: {},
      delete: {},
    },
    _meta: { ...metaOf(own), [SANDBOX]: { extensions } },
  };
  return { ...initialized, agentCapabilities };
}

/** The models of a session, as `_sandboxagent/session/list_models` returns them. */
interface SessionModels {
  readonly availableModels: readonly JsonObject[];
  readonly currentModelId: string | null;
}

/** The setting by which a session's model is chosen, if its agent has one. */
export function modelOption({ configOptions }: JsonObject): JsonObject | undefined {
  const options: unknown[] = Array.isArray(configOptions) ? configOptions : [];
  return options.filter(isObject).find(({ category }) => category === "model");
}

/** The models that an agent lists: as a config option, or in the older form. */
export function modelsOf(settings: JsonObject): SessionModels | undefined {
  const option = modelOption(settings);
  if (option) {
    const availableModels = choicesOf(option).map(({ value, name, description }) =>
      modelOf({ modelId: value, name, description }),
    );
    return { availableModels, currentModelId: textOr(option.currentValue) };
  }
  const { availableModels, currentModelId } = membersOf(settings.models);
  if (!Array.isArray(availableModels)) return undefined;
  return {
    availableModels: availableModels.filter(isObject).map(modelOf),
    currentModelId: textOr(currentModelId),
  };
}

/** The choices of a setting, in groups or not. */
export function choicesOf({ options, groups }: JsonObject): readonly JsonObject[] {
  const all: unknown[] = [options, groups].flatMap((each): unknown[] => (Array.isArray(each) ? each : []));
  return all.filter(isObject).flatMap((one) => (Array.isArray(one.options) ? choicesOf(one) : [one]));
}

function modelOf(model: JsonObject): JsonObject {
  const { modelId, name, description = null } = model;
  return { defaultVariant: null, variants: [], ...model, modelId, name: name ?? modelId, description };
}

function textOr(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
