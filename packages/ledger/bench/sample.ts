import type { Draft } from "../src/entry.ts";

/** A verdict as the harness records them, about 500 bytes. */
export function verdict(producer: number, n: number): Draft {
  return {
    quality: "policy_verdict",
    actor: `agent-${producer % 10}`,
    target: "bash",
    entity_id: `agent-${producer % 10}:cli:${producer}`,
    tags: ["verdict"],
    payload: {
      verdict: "allowed",
      rule: "registered_agents_may_build",
      constitution_hash: "ab".repeat(32),
      tool: "bash",
      effects: [{ kind: "exec", target: "cargo test --all-features" }],
      n,
    },
  };
}
