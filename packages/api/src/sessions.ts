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
