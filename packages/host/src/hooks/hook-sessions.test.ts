import { systemClock } from "@reins/kit";
import type { HookEvent, Principal, Subject } from "@reins/supervisor";
import { expect, test } from "vitest";
import { HookSessions } from "./hook-sessions.ts";

const OPERATOR = { id: "local", tenant: "default", user: "operator" } as Principal;
const EVENT: HookEvent = {
  event_type: "pre_action",
  ...{ session_id: "claude-s", agent_id: "claude", payload: { tool_name: "Bash" } },
  metadata: { hook: { event: "PreToolUse", cwd: "/w", root: "/w" } },
};

/** Hooks with one session of the operator, which keeps what it shows. */
function withSession() {
  const shown: unknown[] = [];
  const session = {
    id: EVENT.session_id,
    record: { key: "claude:ahp:claude-s", tenant: "default", user: "operator", cwd: "/w" },
    append: async (event: unknown) => void shown.push(event),
    apply: async () => undefined,
  };
  const sessions = { get: () => session, serve: () => session };
  const hub = { sessions, clock: systemClock, harness: { redact: (value: unknown) => value } };
  const hooks = new HookSessions(hub as never, { admit: async () => ({ real: ["/w"] }) } as never);
  return { hooks, shown };
}

test("a session shows what its user's agent did, and nothing of a user of the same name in another tenant", async () => {
  const { hooks, shown } = withSession();
  await hooks.workspaceOf(EVENT, OPERATOR);
  const subject = { tenant: "default", user: "operator", agent: "claude", session: EVENT.session_id };
  await hooks.show(EVENT, { ...subject, tenant: "other" } as Subject);
  expect(shown).toEqual([]);
  await hooks.show(EVENT, subject as Subject);
  expect(shown).toHaveLength(1);
});
