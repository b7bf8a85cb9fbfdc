import { CODE, RpcError, readResult } from "@reins/acp";
import {
  type Hub,
  modelsOf,
  REFUSED,
  type SessionFolders,
  type SessionMode,
  type SessionRecord,
  sessionTables,
  TurnQueue,
} from "@reins/host";
import { errorMessage, LruCache } from "@reins/kit";
import type { Harness, Principal, Trust } from "@reins/supervisor";
import { HaakError, type HaakEvent, type NumberedEvent } from "./protocol.ts";
import type { HaakTurn } from "./turn.ts";

/** The state of a session of `/ws` in this process. */
export interface HaakSession {
  readonly id: string;
  readonly sequence: EventSequence;
  /** Runs one turn at a time; eight more wait. */
  readonly queue: TurnQueue;
  /** Running and waiting turns, oldest first. */
  readonly turns: Set<HaakTurn>;
  /** Whether its last turn was cancelled. */
  cancelled: boolean;
}

/** The sessions of `/ws` by key. */
export class HaakSessions {
  readonly #hub: Hub;
  readonly #harness: Pick<Harness, "store" | "ledger">;
  readonly #used = new Map<string, HaakSession>();

  constructor(hub: Hub, harness: Pick<Harness, "store" | "ledger">) {
    this.#hub = hub;
    this.#harness = harness;
  }

  /** Finds the session of a key. Throws if the principal may not see it. */
  async find(principal: Principal, key: string): Promise<SessionRecord | undefined> {
    const { tenant } = principal;
    const stored = await this.#harness.store.query(sessionTables, "byKey", { key, tenant });
    if (!stored) return undefined;
    const record = await this.#hub.find(principal, stored.id);
    if (record) return record;
    throw new HaakError("session_conflict", `the session "${key}" is another user's; choose another key`);
  }

  /** Returns the open session of a key. */
  async expect(principal: Principal, key: string): Promise<SessionRecord> {
    const record = await this.find(principal, key);
    if (!record)
      throw new HaakError("session_not_found", `there is no session "${key}"; begin it with session.init`);
    if (!record.ended) return record;
    throw new HaakError("session_closed", `the session "${key}" is closed; open it with session.init`);
  }

  /** Returns the state of a session, made on its first use. */
  async use({ id, tenant }: Pick<SessionRecord, "id" | "tenant">): Promise<HaakSession> {
    const used = this.#used.get(id);
    if (used) return used;
    const entries = await this.#harness.ledger.size();
    const messages = this.#hub.log.last(tenant);
    const session: HaakSession = this.#used.get(id) ?? {
      id,
      sequence: new EventSequence({ messages, entries }),
      queue: new TurnQueue(),
      turns: new Set(),
      cancelled: false,
    };
    this.#used.set(id, session);
    return session;
  }

  /** Returns the state of a session, if it was used. */
  used(id: string): HaakSession | undefined {
    return this.#used.get(id);
  }

  forget(id: string): void {
    this.#used.delete(id);
  }
}

/**
 * Numbers the events of a session. A restarted server starts above every number it ever gave: each event stands for a
 * log message or a ledger entry, and each of those for at most four events.
 */
export class EventSequence {
  #last: number;

  constructor(from: { readonly messages: number; readonly entries: number }) {
    this.#last = 4 * (from.messages + from.entries);
  }

  /** Continues above the numbers of another sequence. */
  follow(other: EventSequence): void {
    this.#last = Math.max(this.#last, other.#last);
  }

  number(event: HaakEvent): NumberedEvent {
    this.#last += 1;
    return { ...event, seq: this.#last };
  }
}

/** A session whose agent is not available yet. */
interface PendingSession {
  readonly request: SessionRequest;
  readonly sequence: EventSequence;
}

type Owner = Pick<Principal, "id" | "tenant">;

const MAX_PENDING = 1_000;

/** Sessions whose agent is not available; each turn retries. Each principal has its own. */
export class PendingSessions {
  readonly #pending = new LruCache<string, PendingSession>({ entries: MAX_PENDING });

  /** Adds a session, or replaces its request. */
  keep(principal: Owner, request: SessionRequest): void {
    const key = pendingKey(principal, request.session_key);
    const { sequence = new EventSequence({ messages: 0, entries: 0 }) } = this.#pending.get(key) ?? {};
    this.#pending.set(key, { request, sequence });
  }

  get(principal: Owner, key: string): PendingSession | undefined {
    return this.#pending.get(pendingKey(principal, key));
  }

  forget(principal: Owner, key: string): void {
    this.#pending.delete(pendingKey(principal, key));
  }
}

function pendingKey({ tenant, id }: Owner, key: string): string {
  return `${tenant}\n${key}\n${id}`;
}

/** The key of a session whose client names none: `<agent_id>:ws:<uuid>`, with the separators in the id escaped. */
export function derivedKey(agent: string, uuid: string): string {
  return `${agent.replace(/[:/%]/g, (mark) => encodeURIComponent(mark))}:ws:${uuid}`;
}

/** The key of a standing agent's own session. */
export function standingKey(agent: string): string {
  return `${agent}:cli:local`;
}

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
