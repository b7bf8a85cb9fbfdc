import { z } from "zod";
import { type Audience, operation } from "./operation.ts";
import type { ProblemCode } from "./problem.ts";
import { named } from "./schema.ts";

const Text = z.string().max(4_096);
const Id = z.string().min(1).max(256);
/** Clients add members that name their folder and workspace to every query. */
const AnyQuery = z.looseObject({});
const ofSession = z.strictObject({ session: Id });
const ofMessage = z.strictObject({ session: Id, message: Id });
const Folder = {
  directory: Text.optional().describe("the folder; otherwise the header x-opencode-directory"),
};
const audience: Audience = "principal";
const OF_SESSIONS: readonly ProblemCode[] = ["not_found"];
const OF_AGENTS: readonly ProblemCode[] = [
  ...(["not_found", "conflict", "bad_gateway", "not_implemented"] as const),
];
const OF_FILES: readonly ProblemCode[] = ["not_found", "conflict", "unavailable"];

const Anything = z.looseObject({});
const Session = named(
  "OpenCodeSession",
  z.looseObject({
    ...{ id: z.string(), slug: z.string(), projectID: z.string(), directory: z.string(), title: z.string() },
    ...{ version: z.string(), parentID: z.string().optional() },
    time: z.looseObject({ created: z.int(), updated: z.int() }),
  }),
);
const Message = named(
  "OpenCodeMessage",
  z.looseObject({
    info: z.looseObject({ id: z.string(), role: z.enum(["user", "assistant"]) }),
    parts: z.array(z.looseObject({ id: z.string(), type: z.string() })),
  }),
);
const Permission = named(
  "OpenCodePermission",
  z.looseObject({
    id: z.string(),
    sessionID: z.string(),
    permission: z.string(),
    patterns: z.array(z.string()),
  }),
);
const Event = named(
  "OpenCodeEvent",
  z.looseObject({ id: z.string(), type: z.string(), properties: z.looseObject({}) }),
);

const TextPart = z.looseObject({ type: z.literal("text"), text: z.string() });
const FilePart = z.looseObject({
  type: z.literal("file"),
  mime: z.string().min(1).max(256),
  url: z.string().min(1),
  filename: Text.optional(),
});
/** What a prompt consists of; subtasks and mentions of agents are not mapped. */
const PromptPart = z.discriminatedUnion("type", [
  TextPart,
  FilePart,
  z.looseObject({ type: z.literal("agent") }),
  z.looseObject({ type: z.literal("subtask") }),
]);
export type OpenCodePromptPart = z.output<typeof PromptPart>;

const chosen = {
  messageID: Id.optional(),
  agent: Id.optional(),
  variant: Text.optional(),
};
const model = z.looseObject({ providerID: Id, modelID: Id }).optional();
const Prompt = z.strictObject({
  ...chosen,
  model,
  parts: z.array(PromptPart).min(1).max(1_024),
  ...{ noReply: z.boolean().optional(), system: z.string().optional() },
  tools: z.record(z.string(), z.boolean()).optional(),
  format: z.unknown().optional(),
});
export type OpenCodePrompt = z.output<typeof Prompt>;

const Reply = z.enum(["once", "always", "reject"]);

/** OpenCode's API: sessions, messages, events and permissions of its published clients. */
export const opencodeOperations = {
  createSession: operation({
    ...{ id: "opencode_create_session", method: "POST", path: "/opencode/session", audience },
    summary: "Starts a session in a folder, with the agent that the body names.",
    query: z.looseObject(Folder),
    body: z
      .strictObject({
        ...{ title: z.string().max(1_024).optional(), agent: Id.optional(), parentID: Id.optional() },
        model: z.looseObject({ id: Id, providerID: Id }).optional(),
        permission: z.unknown().optional(),
        ...{ metadata: z.unknown().optional(), workspaceID: Id.optional() },
      })
      .optional(),
    answer: Session,
    problems: OF_AGENTS,
  }),
  listSessions: operation({
    ...{ id: "opencode_list_sessions", method: "GET", path: "/opencode/session", audience },
    summary: "Lists the caller's sessions, the most recently active first.",
    query: z.looseObject({
      ...Folder,
      roots: z.enum(["true", "false"]).optional(),
      start: z.coerce.number().optional(),
      search: Text.optional(),
      limit: z.coerce.number().int().min(1).max(1_000).optional(),
    }),
    answer: z.array(Session),
  }),
  sessionStatus: operation({
    ...{ id: "opencode_session_status", method: "GET", path: "/opencode/session/status", audience },
    summary: "Returns the sessions with a turn under way.",
    query: AnyQuery,
    answer: z.record(z.string(), z.looseObject({ type: z.string() })),
  }),
  getSession: operation({
    ...{ id: "opencode_get_session", method: "GET", path: "/opencode/session/{session}", audience },
    summary: "Returns one session.",
    ...{ params: ofSession, query: AnyQuery, answer: Session, problems: OF_SESSIONS },
  }),
  updateSession: operation({
    ...{ id: "opencode_update_session", method: "PATCH", path: "/opencode/session/{session}", audience },
    summary: "Changes the title of a session.",
    ...{ params: ofSession, query: AnyQuery, answer: Session, problems: OF_AGENTS },
    body: z.strictObject({
      title: z.string().max(1_024).optional(),
      ...{ metadata: z.unknown().optional(), permission: z.unknown().optional() },
      time: z.looseObject({ archived: z.number().nullish() }).optional(),
    }),
  }),
  deleteSession: operation({
    ...{ id: "opencode_delete_session", method: "DELETE", path: "/opencode/session/{session}", audience },
    summary: "Ends a session for good; the record of it stays.",
    ...{ params: ofSession, query: AnyQuery, answer: z.boolean(), problems: OF_AGENTS },
  }),
  sessionChildren: operation({
    ...{
      id: "opencode_session_children",
      method: "GET",
      path: "/opencode/session/{session}/children",
      audience,
    },
    summary: "Lists the sessions that a session began.",
    ...{ params: ofSession, query: AnyQuery, answer: z.array(Session), problems: OF_SESSIONS },
  }),
  sessionTodo: operation({
    ...{ id: "opencode_session_todo", method: "GET", path: "/opencode/session/{session}/todo", audience },
    summary: "Returns the last plan of a session's agent.",
    ...{ params: ofSession, query: AnyQuery, answer: z.array(Anything), problems: OF_SESSIONS },
  }),
  sessionDiff: operation({
    ...{ id: "opencode_session_diff", method: "GET", path: "/opencode/session/{session}/diff", audience },
    summary: "Returns no changes: Reins takes no snapshots of files.",
    ...{ params: ofSession, query: AnyQuery, answer: z.array(Anything), problems: OF_SESSIONS },
  }),
  forkSession: operation({
    ...{ id: "opencode_fork_session", method: "POST", path: "/opencode/session/{session}/fork", audience },
    summary: "Starts a session that continues from the end of another.",
    ...{ params: ofSession, query: AnyQuery, answer: Session, problems: OF_AGENTS },
    body: z.strictObject({ messageID: Id.optional() }).optional(),
  }),
  abortSession: operation({
    ...{ id: "opencode_abort_session", method: "POST", path: "/opencode/session/{session}/abort", audience },
    summary: "Cancels the turn under way.",
    ...{ params: ofSession, query: AnyQuery, answer: z.boolean(), problems: OF_SESSIONS },
  }),
  listMessages: operation({
    ...{ id: "opencode_list_messages", method: "GET", path: "/opencode/session/{session}/message", audience },
    summary: "Lists the newest messages of a session, the oldest of them first.",
    params: ofSession,
    query: z.looseObject({ limit: z.coerce.number().int().min(1).max(10_000).optional() }),
    ...{ answer: z.array(Message), problems: ["not_found", "not_implemented"] },
  }),
  getMessage: operation({
    ...{ id: "opencode_get_message", method: "GET", path: "/opencode/session/{session}/message/{message}" },
    summary: "Returns one message.",
    ...{ audience, params: ofMessage, query: AnyQuery, answer: Message, problems: OF_SESSIONS },
  }),
  prompt: operation({
    ...{ id: "opencode_prompt", method: "POST", path: "/opencode/session/{session}/message", audience },
    summary: "Prompts a session, and answers with the assistant's message when the turn is over.",
    ...{ params: ofSession, query: AnyQuery, body: Prompt, answer: Message, problems: OF_AGENTS },
  }),
  promptAsync: operation({
    ...{
      id: "opencode_prompt_async",
      method: "POST",
      path: "/opencode/session/{session}/prompt_async",
      audience,
    },
    summary: "Prompts a session; what comes of it is streamed as events.",
    ...{ params: ofSession, query: AnyQuery, body: Prompt, problems: OF_AGENTS },
  }),
  command: operation({
    ...{ id: "opencode_command", method: "POST", path: "/opencode/session/{session}/command", audience },
    summary: "Prompts a session with a command of its agent.",
    ...{ params: ofSession, query: AnyQuery, answer: Message, problems: OF_AGENTS },
    body: z.strictObject({
      ...chosen,
      model: Text.optional(),
      command: z.string().regex(/^[\w:.-]{1,256}$/, "the name of a command"),
      arguments: z.string().max(1_048_576),
      parts: z.array(PromptPart).max(1_024).optional(),
    }),
  }),
  listPermissions: operation({
    ...{ id: "opencode_list_permissions", method: "GET", path: "/opencode/permission", audience },
    summary: "Lists the approvals that wait for an answer of the caller.",
    ...{ query: AnyQuery, answer: z.array(Permission) },
  }),
  replyPermission: operation({
    ...{ id: "opencode_reply_permission", method: "POST", path: "/opencode/permission/{permission}/reply" },
    summary: "Answers an approval, once.",
    audience: "person",
    params: z.strictObject({ permission: Id }),
    query: AnyQuery,
    body: z.strictObject({ reply: Reply, message: z.string().max(4_096).optional() }),
    ...{ answer: z.boolean(), problems: ["not_found", "conflict"] },
  }),
  respondPermission: operation({
    id: "opencode_respond_permission",
    ...{ method: "POST", path: "/opencode/session/{session}/permissions/{permission}" },
    summary: "Answers an approval of a session, once.",
    audience: "person",
    params: z.strictObject({ session: Id, permission: Id }),
    query: AnyQuery,
    body: z.strictObject({ response: Reply }),
    ...{ answer: z.boolean(), problems: ["not_found", "conflict"] },
  }),
  events: operation({
    ...{ id: "opencode_events", method: "GET", path: "/opencode/event", audience },
    summary: "Streams what happens in the caller's sessions, from now or after `Last-Event-ID`.",
    ...{ query: AnyQuery, answer: Event, events: "message" },
  }),
  globalEvents: operation({
    ...{ id: "opencode_global_events", method: "GET", path: "/opencode/global/event", audience },
    summary: "Streams the same events, each with its folder.",
    query: AnyQuery,
    answer: z.looseObject({ directory: z.string().optional(), payload: Event }),
    events: "message",
  }),
  about: operation({
    ...{ id: "opencode_about", method: "GET", path: "/opencode/{part}", audience },
    summary:
      "Returns what clients ask for at their start: agent, command, config, formatter, lsp, mcp, path, project, provider, question, skill, vcs.",
    params: z.strictObject({ part: Id }),
    ...{ query: AnyQuery, answer: z.unknown(), problems: ["not_implemented"] },
  }),
  aboutMore: operation({
    ...{ id: "opencode_about_more", method: "GET", path: "/opencode/{part}/{detail}", audience },
    summary:
      "Returns more of that: config/providers, global/config, global/health, project/current, provider/auth and some of experimental.",
    params: z.strictObject({ part: Id, detail: Id }),
    ...{ query: AnyQuery, answer: z.unknown(), problems: ["not_implemented"] },
  }),
  listFiles: operation({
    ...{ id: "opencode_list_files", method: "GET", path: "/opencode/file", audience: "person" },
    summary: "Lists a folder; each listing is decided about.",
    query: z.looseObject({ ...Folder, path: Text }),
    ...{ answer: z.array(Anything), problems: OF_FILES },
  }),
  readFile: operation({
    ...{ id: "opencode_read_file", method: "GET", path: "/opencode/file/content", audience: "person" },
    summary: "Returns the content of a file; each reading is decided about.",
    query: z.looseObject({ ...Folder, path: Text }),
    answer: z.looseObject({ type: z.enum(["text", "binary"]), content: z.string() }),
    problems: [...OF_FILES, "too_large"],
  }),
} as const;
