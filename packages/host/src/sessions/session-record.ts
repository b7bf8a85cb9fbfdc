/** `closed` is a session that has ended, and no other; `running` one with a turn that is open. */
const SESSION_STATES = ["idle", "running", "cancelled", "closed"] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/** How a session lives on: until it is closed, while its domain is in use, or for one turn. */
export const SESSION_MODES = ["persistent", "domain", "oneshot"] as const;
export type SessionMode = (typeof SESSION_MODES)[number];

/** How a session ended for good. */
export interface SessionEnd {
  readonly reason: "completed" | "error" | "terminated";
  readonly terminated_by: "agent" | "daemon";
  readonly message?: string | undefined;
  /** RFC 3339. */
  readonly at: string;
}

/** A session as it is stored. */
export interface SessionRecord {
  /** BLAKE3 of `agent:key:created_at`, whatever the agent calls it. */
  readonly id: string;
  /** `<agent>:<channel>:<peer>` */
  readonly key: string;
  readonly agent: string;
  /** The agent of the roster as which it acts, where that is another than the one behind it. */
  readonly acts_as?: string | undefined;
  /** The session that began it, where it is a subagent's, and how far below the user's own agent it is. */
  readonly parent?: string | undefined;
  readonly depth?: number | undefined;
  /** The durable run that goes on with it after a restart, where it works on an action of one. */
  readonly continued_by?: string | undefined;
  readonly tenant: string;
  readonly user: string;
  /** The id of the principal that began it. */
  readonly principal: string;
  /** What the agent itself calls it. */
  readonly agent_session_id: string;
  readonly cwd: string;
  readonly additional_directories: readonly string[];
  /** The MCP servers that the client named, to be wrapped anew whenever the session is loaded; sealed. */
  readonly sealed_servers?: string | undefined;
  /** Whether it stays awake between turns, as `_meta.reins.daemon` says. */
  readonly daemon?: boolean | undefined;
  /** What else wakes one that stays awake: changes of these files and folders, and time. */
  readonly wakes?: { readonly watch_paths?: readonly string[]; readonly interval_ms?: number } | undefined;
  /** How far it may change things, as `_meta.reins.mutation_scope` says; as far as rules allow when absent. */
  readonly mutation_scope?: string | undefined;
  readonly mode: SessionMode;
  /** The mode that Reins or a client put its agent into last; what is decided while no agent has it is decided in that. */
  readonly agent_mode?: string | undefined;
  readonly state: SessionState;
  readonly title: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** RFC 3339. */
  readonly created_at: string;
  readonly last_activity: string;
  /** Absent while it has not ended. */
  readonly ended?: SessionEnd | undefined;
  /** Of one that runs: the position in the log after which the messages of its turn come. */
  readonly turn_after?: number | undefined;
  /** Of one on several nodes: what names the homes of agents in which its last turn was kept. */
  readonly homes?: string | undefined;
  /** Of one with approvals that outlived a process: the position in the log after which its clients were asked. */
  readonly asked_after?: number | undefined;
}
