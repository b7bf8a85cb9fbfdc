import { CODE, RpcError, readResult } from "@reins/acp";
import {
  type Hub,
  modelsOf,
  REFUSED,
  type SessionFolders,
  type SessionMode,
  type SessionRecord,
} from "@reins/host";
import { errorMessage } from "@reins/kit";
import type { Harness, Principal, Trust } from "@reins/supervisor";
import { HaakError } from "./protocol.ts";

export interface OpenSessionOptions {
  readonly hub: Hub;
  /** Names the working folder of sessions that name none. */
  readonly folders: Pick<SessionFolders, "defaultFor">;
  /** Whether an agent is installed; by default each is. */
  readonly isInstalled?: ((agent: string) => Promise<boolean>) | undefined;
}

/** A session that a client requests. */
export interface SessionRequest {
  readonly agent_id: string;
  readonly session_key: string;
  /** The agent of the catalogue behind it. */
  readonly backend: string;
  readonly mode: SessionMode;
  readonly model?: string | undefined;
  readonly cwd?: string | undefined;
  /** When it was first requested. Its id depends on it, also if its agent becomes available later. */
  readonly requested: Date;
}

/** HAAK's names of agents of the catalogue. */
const BACKENDS: ReadonlyMap<string, string> = new Map([
  ["anthropic", "native"],
  ["claude_code", "claude"],
  ["claude-code", "claude"],
]);

/** The agent of the catalogue that a client names. */
export function backendOf(name: string): string {
  return BACKENDS.get(name) ?? name;
}

/** Errors of the request itself; every other one means that the agent is not available. */
const REQUEST_ERRORS: ReadonlySet<number> = new Set([REFUSED, CODE.invalidParams, CODE.cancelled]);

/** Begins a session under the key, and as the agent, that its client names. */
export async function openSession(
  { hub, folders, isInstalled = async () => true }: OpenSessionOptions,
  principal: Principal,
  request: SessionRequest,
): Promise<SessionRecord> {
  const { backend: agent, mode, session_key: key, agent_id: acts_as, requested } = request;
  if (!(await isInstalled(agent)))
    throw new HaakError(
      "backend_unavailable",
      `${agent} is not installed; see reins agents install ${agent}`,
    );
  const cwd = request.cwd ?? (await folders.defaultFor(principal));
  const { signal } = new AbortController();
  const connection = await hub.connect({ principal, agent, begun: requested });
  try {
    const params = { cwd, mcpServers: [], _meta: { reins: { agent, mode, key, acts_as } } };
    const result = await connection.request("session/new", params, signal);
    const { sessionId } = readResult("session/new", result);
    const record = sessionId === undefined ? undefined : await hub.find(principal, sessionId);
    if (record) return record;
    throw new HaakError("internal", "the session was begun and is not there");
  } catch (error) {
    const isRequestError =
      error instanceof HaakError || (error instanceof RpcError && REQUEST_ERRORS.has(error.code));
    throw isRequestError ? HaakError.of(error) : unavailable(error);
  } finally {
    hub.disconnect(connection);
  }
}

/**
 * Sets the model of a session; one that policy forbids leaves it unchanged. Returns the model in use, if the agent
 * reports it.
 */
export async function chooseModel(
  hub: Hub,
  principal: Principal,
  record: SessionRecord,
  model: string | undefined,
): Promise<string | undefined> {
  const current = () => modelsOf(hub.settingsOf(record.id))?.currentModelId ?? undefined;
  if (model === undefined || current() === model) return storeModel(hub, record, current());
  const connection = await hub.connect({ principal });
  try {
    const params = { sessionId: record.id, modelId: model };
    await connection.request("session/set_model", params, new AbortController().signal);
    const chosen = current() ?? model;
    await hub.annotate(record, { model: chosen });
    return chosen;
  } catch (error) {
    if (error instanceof RpcError && error.code === REFUSED) return current();
    throw unavailable(error);
  } finally {
    hub.disconnect(connection);
  }
}

/** Stores the model that the agent reports with the session. Returns it, or the stored one. */
async function storeModel(
  hub: Hub,
  record: SessionRecord,
  model: string | undefined,
): Promise<string | undefined> {
  const stored = storedModel(record);
  if (model !== undefined && model !== stored) await hub.annotate(record, { model });
  return model ?? stored;
}

/** The model that is stored with a session. */
export function storedModel({ metadata }: Pick<SessionRecord, "metadata">): string | undefined {
  return typeof metadata.model === "string" ? metadata.model : undefined;
}

/** The trust of an agent under the name that a principal gives it. */
export function claimedTrust(
  { identity }: Pick<Harness, "identity">,
  principal: Principal,
  agent: string,
): Trust {
  const subject = { principal, agent, hosted: true, session: "none", enforcement: "asked" } as const;
  return identity.subjectFor(subject).trust;
}

function unavailable(error: unknown): HaakError {
  return new HaakError("backend_unavailable", errorMessage(error), { cause: error });
}
