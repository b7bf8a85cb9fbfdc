import { CODE, membersOf, RpcError } from "@reins/acp";
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

/** What sessions are begun with. */
export interface BeginParts {
  readonly hub: Hub;
  readonly harness: Harness;
  /** Which folder sessions work in that name none. */
  readonly folders: Pick<SessionFolders, "defaultFor">;
  /** Whether an agent is there to be run. By default all are. */
  readonly isInstalled?: ((agent: string) => Promise<boolean>) | undefined;
}

/** A session to be begun. */
export interface SessionWish {
  readonly agent_id: string;
  readonly session_key: string;
  /** The agent of the catalogue behind it. */
  readonly backend: string;
  readonly mode: SessionMode;
  readonly model?: string | undefined;
  readonly cwd?: string | undefined;
  /** When it was first asked for. Its id follows from it, also when its agent can be had only later. */
  readonly begun: Date;
}

/** Codes that say that somebody may not do what they want, or did not say it right; anything else is the agent's fault. */
const OWN_FAULTS: ReadonlySet<number> = new Set([REFUSED, CODE.invalidParams, CODE.cancelled]);

/** Begins a session under the key and as the agent that its client named. */
export async function beginSession(
  parts: BeginParts,
  principal: Principal,
  wish: SessionWish,
): Promise<SessionRecord> {
  const { hub, isInstalled = async () => true } = parts;
  const { backend: agent, mode, session_key: key, agent_id: acts_as, begun } = wish;
  if (!(await isInstalled(agent)))
    throw new HaakError(
      "backend_unavailable",
      `${agent} is not installed; see reins agents install ${agent}`,
    );
  const cwd = wish.cwd ?? (await parts.folders.defaultFor(principal));
  const { signal } = new AbortController();
  const connection = await hub.connect({ principal, agent, begun });
  try {
    const params = { cwd, mcpServers: [], _meta: { reins: { agent, mode, key, acts_as } } };
    const { sessionId } = membersOf(await connection.request("session/new", params, signal));
    const record = await hub.find(principal, String(sessionId));
    if (record) return record;
    throw new HaakError("internal", "the session was begun and is not there");
  } catch (error) {
    throw isOwnFault(error) ? HaakError.of(error) : unavailable(error);
  } finally {
    hub.disconnect(connection);
  }
}

/**
 * Has a session use a model, as far as that may be: one that policy does not let its agent choose stays as it was.
 * Gives the model that is used, where the agent tells.
 */
export async function chooseModel(
  { hub }: Pick<BeginParts, "hub">,
  principal: Principal,
  record: SessionRecord,
  model: string | undefined,
): Promise<string | undefined> {
  const current = () => modelsOf(hub.settingsOf(record.id))?.currentModelId ?? undefined;
  if (model === undefined || current() === model) return keepModel(hub, record, current());
  const connection = await hub.connect({ principal });
  try {
    const asked = { sessionId: record.id, modelId: model };
    await connection.request("session/set_model", asked, new AbortController().signal);
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

/** Keeps the model that a session uses with it, where the agent tells; gives the one that is kept. */
async function keepModel(
  hub: Hub,
  record: SessionRecord,
  model: string | undefined,
): Promise<string | undefined> {
  const kept = keptModel(record);
  if (model !== undefined && model !== kept) await hub.annotate(record, { model });
  return model ?? kept;
}

/** The model that is kept with a session. */
export function keptModel({ metadata }: Pick<SessionRecord, "metadata">): string | undefined {
  return typeof metadata.model === "string" ? metadata.model : undefined;
}

/** How far a principal's agent is trusted under the name it gives. */
export function trustOf({ identity, policies }: Harness, principal: Principal, agent: string): Trust {
  const asked = { principal, agent, hosted: true, session: "none", enforcement: "asked" } as const;
  return identity.subjectFor({ ...asked, roster: policies.roster }).trust;
}

function isOwnFault(error: unknown): boolean {
  return error instanceof HaakError || (error instanceof RpcError && OWN_FAULTS.has(error.code));
}

function unavailable(error: unknown): HaakError {
  const message = errorMessage(error);
  return new HaakError("backend_unavailable", message, { cause: error });
}

/** What HAAK calls agents that have another name here. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ["anthropic", "native"],
  ["claude_code", "claude"],
  ["claude-code", "claude"],
]);

/** The agent of the catalogue that a client means by a backend. */
export function backendOf(name: string): string {
  return NAMES.get(name) ?? name;
}
