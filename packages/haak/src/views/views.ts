import { type JsonObject, membersOf, updateIn } from "@reins/acp";
import { Catalogue } from "@reins/agents";
import {
  type LoggedEvent,
  logTables,
  readWritten,
  type SessionRecord,
  type SessionState,
  sessionTables,
  settled,
  TURN_ENDED,
  turnsOf,
} from "@reins/host";
import { canonicalJson, type PlacedEntry } from "@reins/ledger";
import { type Harness, isAdmin, type Principal, sessionKey } from "@reins/supervisor";
import type { HaakEvent } from "../gateway/protocol.ts";
import { storedModel } from "../gateway/sessions.ts";
import { UpdateEvents } from "../gateway/turn-events.ts";

interface Draft {
  readonly role: HistoryRow["role"];
  readonly parts: JsonObject[];
  readonly at: number;
}

/** Builds the rows of a session's history from its event log. */
export class SessionHistory {
  readonly rows: HistoryRow[] = [];
  readonly #session: string;
  readonly #updates: UpdateEvents;
  /** The messages of the current turn. */
  #turn: Draft[] = [];

  constructor(session: string, entry: ConstructorParameters<typeof UpdateEvents>[0]) {
    this.#session = session;
    this.#updates = new UpdateEvents(entry);
  }

  /** Adds the next event of the session or of its turn marks. */
  add({ message, except, at }: Pick<LoggedEvent, "message" | "except" | "at">): void {
    const { turn } = membersOf(message.params);
    if (message.method === TURN_ENDED) this.#end(typeof turn === "string" ? turn : null);
    if (message.method !== "session/update") return;
    const { kind, update } = updateIn(message.params);
    if (kind === "user_message_chunk") {
      if (except !== undefined) this.#addPrompt(membersOf(update.content), at);
      return;
    }
    for (const event of this.#updates.ofUpdate(update)) this.#addEvent(event, at);
  }

  /** Adds the turn that has not ended. */
  finish(): readonly HistoryRow[] {
    this.#end(null);
    return this.rows;
  }

  /** A prompt after a reply begins a turn, even if the one before has no end mark. */
  #addPrompt(content: JsonObject, at: number): void {
    if (this.#turn.some(({ role }) => role === "assistant")) this.#end(null);
    this.#push("user", content.type === "text" ? { type: "text", text: content.text } : content, at);
  }

  #addEvent(event: HaakEvent, at: number): void {
    if (event.type === "text_delta") this.#append("text", event.text, at);
    if (event.type === "reasoning_delta") this.#append("thinking", event.text, at);
    if (event.type === "tool_call") {
      const { id, name, input } = event;
      this.#push("assistant", { type: "tool_use", id, name, input }, at);
    }
    if (event.type === "tool_result") {
      const { id: tool_use_id, content, is_error } = event;
      this.#push("user", { type: "tool_result", tool_use_id, content, is_error }, at);
    }
  }

  /** Appends to the last block of the same type. */
  #append(type: "text" | "thinking", text: string, at: number): void {
    const last = this.#turn.at(-1);
    const part = last?.role === "assistant" ? last.parts.at(-1) : undefined;
    if (part?.type === type) part[type] = String(part[type]) + text;
    else this.#push("assistant", { type, [type]: text }, at);
  }

  #push(role: HistoryRow["role"], part: JsonObject, at: number): void {
    const last = this.#turn.at(-1);
    if (last?.role === role) last.parts.push(part);
    else this.#turn.push({ role, parts: [part], at });
  }

  #end(turn_id: string | null): void {
    for (const { role, parts, at } of this.#turn) {
      const seq = this.rows.length;
      const created_at = new Date(at).toISOString();
      const row = { id: `${this.#session}:${seq}`, session_id: this.#session, turn_id, seq };
      this.rows.push({ ...row, role, content: canonicalJson(parts), created_at });
    }
    this.#turn = [];
  }
}

/** A page of numbered rows: those after a number. */
export interface RowRange {
  readonly after?: number | undefined;
  readonly limit: number;
}

const PAGE = 500;
/** The tool names of an agent that has left the catalogue are the protocol's. */
const UNKNOWN = { toolNames: { members: [], aliases: [], kinds: {} } };
const PAGE_SIZE = 1 << 20;

/** HAAK's four tables as views of the store and the ledger. Keeps nothing itself. */
export class HaakViews {
  readonly #harness: Pick<Harness, "store" | "ledger">;
  readonly #catalogue: Pick<Catalogue, "entries">;

  constructor(
    harness: Pick<Harness, "store" | "ledger">,
    catalogue: Pick<Catalogue, "entries"> = Catalogue.load(),
  ) {
    this.#harness = harness;
    this.#catalogue = catalogue;
  }

  /** The sessions that a principal may see, most recently used first. */
  async sessions(
    principal: Principal,
    range: { readonly state?: SessionState | undefined; readonly after?: string | undefined; limit: number },
  ): Promise<readonly SessionRow[]> {
    const own = isAdmin(principal) ? {} : { principal: principal.id };
    const { state, ...rest } = range;
    const open = state !== undefined && state !== "closed";
    const query = { ...rest, ...own, open, tenant: principal.tenant };
    await settled(this.#harness.store);
    const records = await this.#harness.store.query(sessionTables, "list", query);
    const rows = await Promise.all(records.map((record) => this.row(record)));
    return state === undefined ? rows : rows.filter((row) => row.state === state);
  }

  /** A session by its id or its key, if the principal may see it. */
  async find(principal: Principal, name: string): Promise<SessionRecord | undefined> {
    const { store } = this.#harness;
    const { tenant } = principal;
    await settled(store);
    const record =
      (await store.query(sessionTables, "get", { id: name, tenant })) ??
      (await store.query(sessionTables, "byKey", { key: name, tenant }));
    return record && (isAdmin(principal) || record.principal === principal.id) ? record : undefined;
  }

  async row(record: SessionRecord): Promise<SessionRow> {
    const { id, key, agent, acts_as, mode, last_activity, created_at, ended } = record;
    return {
      id,
      session_key: key,
      agent_id: acts_as ?? agent,
      backend: agent,
      model: storedModel(record) ?? null,
      mode,
      state: record.state,
      pubkey: await this.#pubkeyOf(record),
      last_activity,
      created_at,
      close_reason: ended ? (ended.message ?? ended.reason) : null,
    };
  }

  /** The turns of a session, oldest first. */
  async turns(record: SessionRecord, { after = -1, limit }: RowRange): Promise<readonly TurnRow[]> {
    const rows: TurnRow[] = [];
    let seq = -1;
    for await (const { entry } of this.#entries(record, "turn")) {
      seq += 1;
      if (seq <= after) continue;
      rows.push(turnRow(record.id, seq, entry));
      if (rows.length === limit) break;
    }
    return rows;
  }

  /** The messages of a session, oldest first. */
  async history(record: SessionRecord, { after = -1, limit }: RowRange): Promise<readonly HistoryRow[]> {
    const { tenant, id, agent } = record;
    const entry = this.#catalogue.entries.find((one) => one.id === agent);
    const history = new SessionHistory(id, entry ?? UNKNOWN);
    const sessions = [id, turnsOf(id)];
    await settled(this.#harness.store);
    for (let last = 0; ; ) {
      const range = { tenant, sessions, after: last, limit: PAGE, size: PAGE_SIZE };
      const page = await this.#harness.store.query(logTables, "written", range);
      for (const event of page) {
        last = event.order;
        history.add(readWritten(event));
      }
      const isEnough = history.rows.length > after + limit;
      if (isEnough) return history.rows.slice(after + 1, after + 1 + limit);
      if (page.length === 0) return history.finish().slice(after + 1, after + 1 + limit);
    }
  }

  /** The ledger entries of a session, oldest first, each with its position. */
  ledger(record: SessionRecord, { after = -1, limit }: RowRange): Promise<PlacedEntry[]> {
    return this.#harness.ledger.read({ entity_id: chainOf(record), after, limit });
  }

  async *#entries(record: SessionRecord, quality: string): AsyncGenerator<PlacedEntry> {
    for (let after = -1; ; ) {
      const range = { entity_id: chainOf(record), quality, after, limit: PAGE };
      const page: PlacedEntry[] = await this.#harness.ledger.read(range);
      for (const placed of page) {
        after = placed.seq;
        yield placed;
      }
      if (page.length < PAGE) return;
    }
  }

  /** The public key of the session's last turn, from the ledger's key entries. */
  async #pubkeyOf(record: SessionRecord): Promise<string | null> {
    const { ledger } = this.#harness;
    const newest = { entity_id: chainOf(record), quality: "turn", order: "newest", limit: 1 } as const;
    const [turn] = await ledger.read(newest);
    const { proof } = turn?.entry ?? {};
    if (proof?.type !== "attestation") return null;
    for (let after: number | undefined; ; ) {
      const page: PlacedEntry[] = await ledger.read({ tag: "key", order: "newest", after, limit: PAGE });
      for (const { seq, entry } of page) {
        after = seq;
        const { key_id, public_key } = membersOf(entry.payload);
        if (key_id === proof.key_id && typeof public_key === "string") return public_key;
      }
      if (page.length < PAGE) return null;
    }
  }
}

function chainOf({ tenant, id: session, key: session_key, agent }: SessionRecord): string {
  return sessionKey({ tenant, session, session_key, agent });
}

function turnRow(
  session_id: string,
  seq: number,
  { cid, parents, payload, proof }: PlacedEntry["entry"],
): TurnRow {
  const { inputs_hash, outputs_hash, stop_reason, usage, started_at, completed_at } = membersOf(payload);
  return {
    id: cid,
    session_id,
    seq,
    prev_cid: parents[0] ?? null,
    input_hash: String(inputs_hash),
    output_hash: String(outputs_hash),
    stop_reason: String(stop_reason),
    usage: membersOf(usage),
    started_at: String(started_at),
    completed_at: String(completed_at),
    proof,
  };
}

/** A row of HAAK's table `sessions`. */
export interface SessionRow {
  readonly id: string;
  readonly session_key: string;
  readonly agent_id: string;
  readonly backend: string;
  readonly model: string | null;
  readonly mode: SessionRecord["mode"];
  readonly state: SessionRecord["state"];
  /** The key that signs its turns, base64; null before the first turn. */
  readonly pubkey: string | null;
  readonly last_activity: string;
  readonly created_at: string;
  /** Null while it is open. */
  readonly close_reason: string | null;
}

/** A row of HAAK's table `turns`; its id is that of its ledger entry. */
export interface TurnRow {
  readonly id: string;
  readonly session_id: string;
  readonly seq: number;
  readonly prev_cid: string | null;
  readonly input_hash: string;
  readonly output_hash: string;
  readonly stop_reason: string;
  readonly usage: Readonly<Record<string, unknown>>;
  readonly started_at: string;
  readonly completed_at: string;
  readonly proof: PlacedEntry["entry"]["proof"];
}

/** A row of HAAK's table `history`. */
export interface HistoryRow {
  readonly id: string;
  readonly session_id: string;
  /** Null while its turn runs, and for an interrupted one. */
  readonly turn_id: string | null;
  readonly seq: number;
  readonly role: "user" | "assistant";
  /** The content blocks, as canonical JSON. */
  readonly content: string;
  readonly created_at: string;
}
