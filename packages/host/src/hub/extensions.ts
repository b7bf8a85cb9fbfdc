import { CODE, isObject, type JsonObject, metaOf, RpcError, SANDBOX } from "@reins/acp";
import type { Principal } from "@reins/supervisor";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { SessionRange } from "../sessions/tables.ts";
import type { Connection } from "./connection.ts";
import { EXTENSIONS, modelsOf, sessionInfo } from "./session-info.ts";

/** What the extensions need of the hub. */
export interface ExtensionHub {
  list(principal: Principal, range?: Partial<SessionRange>): Promise<SessionRecord[]>;
  find(principal: Principal, id: string): Promise<SessionRecord | undefined>;
  terminate(principal: Principal, id: string): Promise<boolean>;
  annotate(record: SessionRecord, metadata: Readonly<JsonObject>): Promise<void>;
  settingsOf(id: string): JsonObject;
  settingsOfAgent(principal: Principal, agent: string): Promise<JsonObject>;
  countsOf(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

const MAX_METADATA = 64 * 1024;
const MOST_LISTED = 1_000;

type Extension = (hub: ExtensionHub, connection: Connection, params: JsonObject) => Promise<JsonObject>;

const HANDLERS: ReadonlyMap<string, Extension> = new Map<string, Extension>([
  [EXTENSIONS.sessionDetach, detach],
  [EXTENSIONS.sessionTerminate, terminate],
  [EXTENSIONS.sessionListModels, listModels],
  [EXTENSIONS.sessionSetMetadata, setMetadata],
  [EXTENSIONS.sessionList, list],
  [EXTENSIONS.sessionGet, get],
]);

/** Whether a method is one of the extensions. */
export function isExtension(method: string): boolean {
  return HANDLERS.has(method);
}

/** Answers an extension. */
export function extend(
  hub: ExtensionHub,
  connection: Connection,
  method: string,
  params: JsonObject,
): Promise<JsonObject> {
  const handler = HANDLERS.get(method);
  if (handler) return handler(hub, connection, params);
  throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
}

async function detach(_: ExtensionHub, connection: Connection, params: JsonObject): Promise<JsonObject> {
  connection.detach(sessionIn(params));
  return {};
}

async function terminate(
  hub: ExtensionHub,
  { principal }: Connection,
  params: JsonObject,
): Promise<JsonObject> {
  const id = sessionIn(params);
  const terminated = await hub.terminate(principal, id);
  const alreadyEnded = !terminated && (await hub.find(principal, id)) !== undefined;
  return { terminated, alreadyEnded, reason: "terminated", terminatedBy: "daemon" };
}

async function listModels(
  hub: ExtensionHub,
  { principal }: Connection,
  params: JsonObject,
): Promise<JsonObject> {
  const { sessionId, agent } = params;
  if (sessionId === undefined && typeof agent !== "string")
    throw new RpcError(CODE.invalidParams, "list_models needs a sessionId or an agent");
  const settings =
    sessionId === undefined
      ? await hub.settingsOfAgent(principal, String(agent))
      : hub.settingsOf((await expected(hub, principal, params)).id);
  return { availableModels: [], currentModelId: null, ...modelsOf(settings) };
}

async function setMetadata(
  hub: ExtensionHub,
  { principal }: Connection,
  params: JsonObject,
): Promise<JsonObject> {
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

async function list(hub: ExtensionHub, { principal }: Connection): Promise<JsonObject> {
  const records = await hub.list(principal, { limit: MOST_LISTED });
  return { sessions: (await infoOf(hub, records)).toSorted(byId) };
}

async function get(hub: ExtensionHub, { principal }: Connection, params: JsonObject): Promise<JsonObject> {
  const [info = {}] = await infoOf(hub, [await expected(hub, principal, params)]);
  return info;
}

async function infoOf(hub: ExtensionHub, records: readonly SessionRecord[]): Promise<JsonObject[]> {
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

async function expected(hub: ExtensionHub, principal: Principal, params: JsonObject): Promise<SessionRecord> {
  const id = sessionIn(params);
  const record = await hub.find(principal, id);
  if (record) return record;
  throw new RpcError(CODE.notFound, `there is no session ${JSON.stringify(id)}`);
}
