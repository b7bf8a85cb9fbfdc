import { z } from "zod";
import { operation } from "./operation.ts";
import { Enforcement, Moment, Name, named, PageAfter, PageLimit, PathName, Trust } from "./schema.ts";

/** The state of a session. */
export const SessionState = z.enum(["idle", "running", "cancelled", "closed"]);

/** How long a session lasts: until it is closed, until it is idle for a while, or for one turn. */
export const SessionMode = z.enum(["persistent", "domain", "oneshot"]);

/** How a session ended for good. */
const SessionEnd = named(
  "SessionEnd",
  z.looseObject({
    reason: z.enum(["completed", "error", "terminated"]),
    terminated_by: z.enum(["agent", "daemon"]),
    message: z.string().optional(),
    at: Moment,
  }),
);

/** A session with an agent. Its messages are in ACP. */
export const Session = named(
  "Session",
  z.looseObject({
    id: z.string().describe("BLAKE3 of agent, key and created_at, with colons between them"),
    key: z.string().describe("agent, channel and peer, with colons between them"),
    agent: z.string(),
    user: z.string(),
    principal: z.string().describe("the token, or local, that began it"),
    agent_session_id: z.string().describe("what the agent itself calls it"),
    cwd: z.string(),
    additional_directories: z.array(z.string()),
    mode: SessionMode,
    state: SessionState,
    title: z.string().optional(),
    metadata: z.looseObject({}),
    settings: z
      .looseObject({})
      .describe("its modes, models and settings, as far as its agent has reported them"),
    event_count: z.int().describe("how many messages of it are kept"),
    agent_runs: z
      .boolean()
      .describe("whether an agent process has it open; if not, the next prompt starts one"),
    trust: Trust.optional().describe("how well its agent is known"),
    enforcement: Enforcement.optional().describe("how far verdicts on its agent are enforced"),
    cost_usd: z
      .number()
      .optional()
      .describe("so far, as its agent reports it; absent before the first report"),
    pending_approvals: z.int().optional().describe("how many questions of it wait for a person"),
    created_at: Moment,
    last_activity: Moment,
    ended: SessionEnd.optional(),
  }),
);
export type Session = z.infer<typeof Session>;

/** Some sessions, and where the next ones begin. */
export const SessionPage = named(
  "SessionPage",
  z.looseObject({ sessions: z.array(Session), next: z.string().optional() }),
);

/** Operations on sessions. */
export const sessionOperations = {
  listSessions: operation({
    id: "list_sessions",
    method: "GET",
    path: "/v1/sessions",
    summary:
      "Lists the sessions that the caller may see, the most recently used first: its own, for an admin all of the tenant.",
    audience: "principal",
    query: z.strictObject({
      agent: Name.optional(),
      cwd: Name.optional(),
      state: SessionState.optional(),
      limit: PageLimit,
      after: PageAfter,
    }),
    answer: SessionPage,
  }),
  streamSessions: operation({
    id: "stream_sessions",
    method: "GET",
    path: "/v1/sessions/stream",
    summary:
      "Streams new and changed sessions that the caller may see, from now on. Changes in quick succession are sent as one.",
    audience: "principal",
    answer: Session,
    events: "session",
    problems: ["not_acceptable"],
  }),
  getSession: operation({
    id: "get_session",
    method: "GET",
    path: "/v1/sessions/{id}",
    summary: "Returns one session.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    answer: Session,
    problems: ["not_found"],
  }),
} as const;

/** A turn that a session can go back to before. To go back to before a rewind undoes it. */
export const RewindTurn = named(
  "RewindTurn",
  z.looseObject({
    id: z.string(),
    at: Moment.describe("when it began"),
    kind: z.enum(["turn", "rewind"]),
    prompt: z.string().optional().describe("the beginning of the prompt"),
    files: z.int().describe("how many files and folders Reins changed in it"),
    in_effect: z
      .boolean()
      .optional()
      .describe("whether the model is shown it; absent where the agent holds the conversation itself"),
    before: z.string().optional().describe("of a rewind: the turn before which it went back"),
    cut: z
      .boolean()
      .describe("whether a rewind was cut off by the end of the process; once more, it completes that"),
  }),
);
export type RewindTurn = z.infer<typeof RewindTurn>;

/** What a session can go back to. */
export const RewindTurns = named(
  "RewindTurns",
  z.looseObject({
    turns: z.array(RewindTurn).describe("in their order"),
    conversation: z.boolean().describe("whether the conversation can go back, too"),
    forgotten: z.string().optional().describe("the last turn whose files are not kept any more"),
  }),
);
export type RewindTurns = z.infer<typeof RewindTurns>;

/** What becomes of a file or folder in a rewind. */
const RewoundFile = named(
  "RewoundFile",
  z.looseObject({
    path: z.string(),
    change: z.enum(["write", "remove", "none"]),
    state: z
      .enum(["pending", "restored", "unchanged", "conflict", "lost", "failed"])
      .describe(
        "`conflict`: it is not as Reins left it; `lost`: what it was is not kept; `pending`: it was not touched yet",
      ),
    reason: z.string().optional(),
  }),
);

/** What became of a rewind, or would. */
export const RewindReport = named(
  "RewindReport",
  z.looseObject({
    turn: z.string(),
    done: z.boolean().describe("whether everything was done; false for a dry run, or with files in the way"),
    rewind: z.string().optional().describe("the rewind itself: to go back to before it undoes it"),
    files: z.array(RewoundFile),
    conversation: z.looseObject({
      state: z.enum(["rewound", "pending", "kept"]),
      reason: z.string().optional(),
    }),
    commands: z
      .array(z.string())
      .describe("commands that were run since, the first hundred: what they changed is not undone"),
  }),
);
export type RewindReport = z.infer<typeof RewindReport>;

/** How a session goes back. */
const Rewind = named(
  "Rewind",
  z.strictObject({
    turn: z.string().min(1).max(256).describe("the turn before which it goes back"),
    files: z.boolean().optional().describe("whether files are restored; by default they are"),
    conversation: z
      .boolean()
      .optional()
      .describe("whether the conversation goes back; by default where Reins holds it"),
    dry_run: z.boolean().optional().describe("shows what it would do, and does nothing"),
    force: z
      .boolean()
      .optional()
      .describe("replaces what was changed otherwise, and restores what it can where not everything can be"),
  }),
);

/** Operations that take a session back. */
export const rewindOperations = {
  listTurns: operation({
    id: "list_turns",
    method: "GET",
    path: "/v1/sessions/{id}/turns",
    summary: "Lists the turns that a session can go back to before, with the rewinds that it made.",
    audience: "person",
    params: z.strictObject({ id: PathName }),
    answer: RewindTurns,
    problems: ["not_found"],
  }),
  rewindSession: operation({
    id: "rewind_session",
    method: "POST",
    path: "/v1/sessions/{id}/rewind",
    summary:
      "Takes a session back to before a turn: the files that Reins wrote, each decided about, and the conversation where Reins holds it. Nothing is changed while a file stands in the way.",
    audience: "person",
    params: z.strictObject({ id: PathName }),
    body: Rewind,
    answer: RewindReport,
    problems: ["not_found", "conflict", "unavailable", "not_implemented"],
  }),
} as const;
