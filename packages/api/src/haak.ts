import { z } from "zod";
import { operation } from "./operation.ts";
import { Hash, Moment, named, PageAfter, PageLimit, PathName } from "./schema.ts";
import { SessionMode, SessionState } from "./sessions.ts";

/** A session as HAAK's table `sessions` has it. */
const HaakSession = named(
  "HaakSession",
  z.looseObject({
    id: Hash.describe("BLAKE3 of agent_id, session_key and created_at, with colons between them"),
    session_key: z.string(),
    agent_id: z.string().describe("the id that it claims; the token confirms it or not"),
    backend: z.string().describe("the agent of the catalogue behind it"),
    model: z.string().nullable(),
    mode: SessionMode,
    state: SessionState,
    pubkey: z.string().nullable().describe("Ed25519, base64: the key that its last turn is signed with"),
    last_activity: Moment,
    created_at: Moment,
    close_reason: z.string().nullable().describe("such as idle_evicted"),
  }),
);

/** A turn as HAAK's table `turns` has it. */
const HaakTurn = named(
  "HaakTurn",
  z.looseObject({
    id: Hash.describe("the content id of its entry in the ledger"),
    session_id: Hash,
    seq: z.int(),
    prev_cid: Hash.nullable().describe("the id of the turn before it, which is its entry's first parent"),
    input_hash: Hash,
    output_hash: Hash,
    stop_reason: z.string(),
    usage: z.looseObject({}),
    started_at: Moment,
    completed_at: Moment,
    proof: z.looseObject({}).nullable(),
  }),
);

/** A message as HAAK's table `history` has it. */
const HaakMessage = named(
  "HaakMessage",
  z.looseObject({
    id: z.string(),
    session_id: Hash,
    turn_id: Hash.nullable().describe("null while its turn is under way, and for one that was cut off"),
    seq: z.int(),
    role: z.enum(["user", "assistant"]),
    content: z.string().describe("the parts of the message, as RFC 8785 JSON"),
    created_at: Moment,
  }),
);

/** An entry of the ledger, with its place. */
const HaakEntry = named(
  "HaakEntry",
  z.looseObject({
    seq: z.int(),
    cid: Hash,
    entity_id: z.string(),
    target: z.string(),
    quality: z.string(),
    timestamp: Moment,
    source: z.string(),
    actor: z.string(),
    parents: z.array(Hash),
    tags: z.array(z.string()),
    payload: z.unknown(),
    proof: z.looseObject({}).nullable(),
    envelope: z.looseObject({}).nullable(),
  }),
);

const params = z.strictObject({ session: PathName.describe("its id or its key") });
const query = z.strictObject({
  after: z.coerce.number().int().min(-1).optional().describe("the seq of the last one of the page before"),
  limit: PageLimit,
});
const problems = ["not_found"] as const;

/** Read operations in HAAK's format. */
export const haakOperations = {
  listHaakSessions: operation({
    id: "list_haak_sessions",
    method: "GET",
    path: "/v1/haak/sessions",
    summary: "Lists the sessions that the caller may see, the most recently used first.",
    audience: "principal",
    query: z.strictObject({ state: SessionState.optional(), limit: PageLimit, after: PageAfter }),
    answer: named("HaakSessionList", z.looseObject({ sessions: z.array(HaakSession) })),
  }),
  getHaakSession: operation({
    id: "get_haak_session",
    method: "GET",
    path: "/v1/haak/sessions/{session}",
    summary: "Returns one session.",
    audience: "principal",
    params,
    answer: HaakSession,
    problems,
  }),
  listHaakTurns: operation({
    id: "list_haak_turns",
    method: "GET",
    path: "/v1/haak/sessions/{session}/turns",
    summary: "Lists the turns of a session, oldest first.",
    audience: "principal",
    params,
    query,
    answer: named("HaakTurnList", z.looseObject({ turns: z.array(HaakTurn) })),
    problems,
  }),
  listHaakHistory: operation({
    id: "list_haak_history",
    method: "GET",
    path: "/v1/haak/sessions/{session}/history",
    summary: "Lists the messages of a session, oldest first.",
    audience: "principal",
    params,
    query,
    answer: named("HaakHistory", z.looseObject({ history: z.array(HaakMessage) })),
    problems,
  }),
  listHaakLedger: operation({
    id: "list_haak_ledger",
    method: "GET",
    path: "/v1/haak/sessions/{session}/ledger",
    summary: "Lists the entries of a session in the ledger, oldest first.",
    audience: "principal",
    params,
    query,
    answer: named("HaakLedger", z.looseObject({ ledger: z.array(HaakEntry) })),
    problems,
  }),
} as const;
