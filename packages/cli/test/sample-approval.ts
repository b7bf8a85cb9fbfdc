import type { Approval } from "@reins/api";

const ASKED = "2026-11-15T05:20:00.000Z";

export function sampleFacts(facts: Partial<Approval["facts"]> = {}): Approval["facts"] {
  return {
    tool: "Bash",
    effects: [
      { kind: "exec", command: "git", arguments: ["push", "--force"], opaque: false },
      { kind: "net", host: "example.com" },
    ],
    opaque: false,
    doubts: [],
    claims: {},
    arguments: { command: "git push --force" },
    ...facts,
  };
}

export function sampleApproval(approval: Partial<Approval> = {}): Approval {
  return {
    id: "apr_aaaabbbbccccddddeeeeff",
    tenant: "acme",
    user: "ann",
    agent: "claude",
    chain: [],
    session: "s1",
    event_type: "pre_action",
    tool: "Bash",
    facts: sampleFacts(),
    enforcement: "asked",
    binding: "ab".repeat(32),
    cwd: "/project",
    target_state: {},
    rule: "ask_first",
    reason: "pushing is seen by others",
    options: ["allow_once", "allow_always", "deny"],
    quorum: 1,
    answers: [],
    state: "pending",
    created_at: ASKED,
    expires_at: "2026-11-15T06:20:00.000Z",
    entry: "cd".repeat(32),
    ...approval,
  };
}
