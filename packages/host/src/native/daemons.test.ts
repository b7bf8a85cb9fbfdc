import { ManualClock } from "@reins/kit/manual-clock";
import type { Principal } from "@reins/supervisor";
import { expect, test } from "vitest";
import { newSessionRecord } from "../sessions/new-session.ts";
import { Daemons } from "./daemons.ts";

const principal: Principal = {
  ...{ id: "t1", kind: "user", user: "ann", tenant: "default", roles: [], scopes: [], agents: [] },
  started: "interactive",
};

/** A session that stays awake and is not open, and the daemons of a hub that opens none. */
function asleep(current: Principal | undefined) {
  const clock = new ManualClock();
  const errors: string[] = [];
  const daemons = new Daemons({
    hub: {
      clock,
      connect: async () => {
        throw new Error("a turn would begin");
      },
      disconnect: () => undefined,
      live: () => undefined,
      sendUnlogged: () => undefined,
    },
    harness: { identity: { current: async () => current } },
    onError: (error) => void errors.push(String(error)),
  });
  const made = { agent: "native", principal, channel: "acp", peer: "p", created: clock.now(), cwd: "/w" };
  const session = { ...newSessionRecord(made), daemon: true, wakes: { interval_ms: 1_000 } };
  return { clock, errors, daemons, session };
}

test("a session that can take no turn any more is woken by nothing", async () => {
  const { clock, errors, daemons, session } = asleep(undefined);
  daemons.takes(session, "agent/resume", {});
  expect(clock.waiting).toBe(1);
  await expect.poll(() => errors).toEqual([expect.stringContaining("may no longer do so")]);
  await expect.poll(() => clock.waiting).toBe(0);
});

test("a message to a session that is not open is not lost", async () => {
  const { errors, daemons, session } = asleep(principal);
  expect(daemons.takes(session, "user_message", { content: "go on" })).toBe(true);
  await expect.poll(() => errors).toEqual([expect.stringContaining("a turn would begin")]);
});
