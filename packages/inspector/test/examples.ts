import type { Agent, Approval, PolicyExplanation, Self, Session } from "@reins/api";

const AT = "2026-01-01T00:00:00.000Z";
const HASH = "a".repeat(64);

/** An approval of the native agent that wants to run make. */
export function anApproval(more: Partial<Approval> = {}): Approval {
  return {
    id: "approval-1",
    tenant: "default",
    user: "ada",
    agent: "native",
    chain: [],
    session: "b".repeat(64),
    event_type: "pre_action",
    tool: "run_command",
    facts: {
      tool: "run_command",
      effects: [{ kind: "exec", command: "make", arguments: [], opaque: true }],
      opaque: false,
      doubts: [],
      claims: {},
      arguments: { command: "make" },
    },
    enforcement: "performed",
    binding: HASH,
    cwd: "/w",
    target_state: {},
    reason: "make runs what the build files say",
    options: ["allow_once", "allow_always", "deny"],
    quorum: 1,
    answers: [],
    state: "pending",
    created_at: AT,
    expires_at: AT,
    entry: HASH,
    ...more,
  };
}

/** An idle session of the native agent. */
export function aSession(more: Partial<Session> = {}): Session {
  return {
    id: "b".repeat(64),
    key: "native:acp:1",
    agent: "native",
    user: "ada",
    principal: "local",
    agent_session_id: "1",
    cwd: "/w",
    additional_directories: [],
    mode: "persistent",
    state: "idle",
    metadata: {},
    settings: {},
    event_count: 1,
    agent_runs: true,
    created_at: AT,
    last_activity: AT,
    ...more,
  };
}

/** An agent of the catalogue that is not installed. */
export function anAgent(more: Partial<Agent> = {}): Agent {
  return {
    agent: "pond",
    name: "The pond",
    support: { level: "supported" },
    built_in: false,
    registry: null,
    added: false,
    platforms: [],
    megabytes: 12,
    install: null,
    installing: false,
    verification: { state: "unverified" },
    enforcement: { level: "asked", reason: "it asks", unasked: [] },
    hostile: null,
    credentials: { found: [], missing: [] },
    running: 0,
    capabilities: null,
    ...more,
  };
}

/** An explanation of a blocked read. */
export function anExplanation(more: Partial<PolicyExplanation> = {}): PolicyExplanation {
  return {
    entry: HASH,
    event_type: "pre_action",
    at: AT,
    subject: { user: "ada", tenant: "default", agent: "native", trust: "standing", scopes: ["run"] },
    facts: {
      tool: "read_file",
      effects: [{ kind: "read", path: "/w/.env", place: "credentials" }],
      opaque: false,
      doubts: [],
      claims: {},
      arguments: { path: ".env" },
    },
    policy: { constitution_hash: HASH, rules_hash: HASH, current: true },
    rules: [],
    said: { verdict: "blocked", rule: "no_secrets", reason: "secrets are not for agents" },
    recorded: null,
    counters: {},
    limits: [],
    harnesses: [],
    note: null,
    ...more,
  };
}

/** The operator, signed in. */
export function aSelf(more: Partial<Self> = {}): Self {
  return {
    id: "local",
    kind: "user",
    user: "operator",
    tenant: "default",
    roles: ["admin"],
    scopes: [],
    is_admin: true,
    ...more,
  };
}
