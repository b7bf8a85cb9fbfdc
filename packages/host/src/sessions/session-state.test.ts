import type { Principal } from "@reins/supervisor";
import { describe, expect, it } from "vitest";
import { newSessionRecord } from "./new-session.ts";
import type { SessionRecord } from "./session-record.ts";
import {
  type SessionEvent,
  type SessionPhase,
  storedPhase,
  TRANSITIONS,
  transition,
} from "./session-state.ts";

const CREATED = "2026-01-01T00:00:00.000Z";
const NOW = "2026-01-01T00:01:00.000Z";
const END = { reason: "terminated", terminated_by: "daemon", at: NOW } as const;

const principal: Principal = {
  ...{ id: "t1", kind: "user", user: "ann", tenant: "default", roles: [], scopes: [], agents: [] },
  started: "interactive",
};
const record: SessionRecord = newSessionRecord({
  agent: "stub",
  principal,
  channel: "acp",
  peer: "one",
  created: new Date(CREATED),
  cwd: "/work",
});
const running: SessionRecord = { ...record, state: "running", turn_after: 7 };
const ended: SessionRecord = { ...record, state: "closed", ended: END };

const EVENTS: readonly SessionEvent[] = [
  { type: "accepted", changes: { agent_session_id: "a-1" } },
  { type: "started" },
  { type: "failed" },
  { type: "resume" },
  { type: "retained" },
  { type: "prompted", turn_after: 7 },
  { type: "turn_ended" },
  { type: "turn_recorded" },
  { type: "agent_lost" },
  {
    type: "stopped",
    entry: { quality: "session_lifecycle", actor: "a", target: "s", tags: [], payload: {} },
  },
  { type: "released" },
  { type: "cut" },
  { type: "recovered", asked_after: 3 },
  { type: "annotated", changes: { title: "a title" } },
  { type: "ended", end: END },
  { type: "reopened", mode: "oneshot" },
];
const PHASES = Object.keys(TRANSITIONS) as SessionPhase[];

function inPhase(phase: SessionPhase): SessionRecord {
  if (phase === "ended") return ended;
  return phase === "running" || phase === "interrupted" ? running : record;
}

describe("a transition of a session", () => {
  it.each(PHASES.flatMap((phase) => EVENTS.map((event) => [phase, event.type, event] as const)))(
    "from %s by %s is the row of the table, or an error",
    (phase, type, event) => {
      const row = TRANSITIONS[phase][type];
      const apply = () => transition({ phase, record: inPhase(phase) }, event, NOW);
      if (!row) return expect(apply).toThrow(`is ${phase}, which has no transition for "${type}"`);
      const [to, ...effects] = row;
      expect(apply()).toMatchObject({ phase: to, effects });
    },
  );

  it.each(PHASES.flatMap((phase) => EVENTS.map((event) => [phase, event.type, event] as const)))(
    "from %s by %s leaves it closed if and only if it has ended, and running if and only if a turn is open",
    (phase, type, event) => {
      if (!TRANSITIONS[phase][type]) return;
      const next = transition({ phase, record: inPhase(phase) }, event, NOW);
      expect(next.record.state === "closed").toBe(next.record.ended !== undefined);
      expect(next.record.state === "running").toBe(next.record.turn_after !== undefined);
      expect(next.record).toMatchObject({ id: record.id, key: record.key, created_at: CREATED });
    },
  );

  it.each(EVENTS)(
    "by $type changes nothing that a crash has to find, once the session is interrupted",
    (event) => {
      const row = TRANSITIONS.interrupted[event.type];
      if (!row || event.type === "recovered") return;
      const next = transition({ phase: "interrupted", record: running }, event, NOW);
      expect(next).toEqual({ phase: "interrupted", record: running, effects: [] });
    },
  );

  it("keeps a turn open whose agent is gone until the turn has ended", () => {
    const lost = transition({ phase: "running", record: running }, { type: "agent_lost" }, NOW);
    expect(lost).toMatchObject({ phase: "parked", record: { state: "running", turn_after: 7 } });
    const over = transition(lost, { type: "turn_ended" }, NOW);
    expect(over).toMatchObject({ phase: "parked", record: { state: "idle", turn_after: undefined } });
  });

  it("stores nothing of a session that its agent does not accept", () => {
    const failed = transition({ phase: "starting", record }, { type: "failed" }, NOW);
    expect(failed.effects).not.toContain("write");
    expect(failed.effects).toContain("forget");
  });

  it("says that it was active only when a client or an agent did something", () => {
    const times = (phase: SessionPhase, event: SessionEvent) =>
      transition({ phase, record: inPhase(phase) }, event, NOW).record.last_activity;
    expect(times("idle", { type: "prompted", turn_after: 1 })).toBe(NOW);
    expect(times("running", { type: "turn_ended" })).toBe(NOW);
    expect(times("idle", { type: "agent_lost" })).toBe(CREATED);
    expect(times("parked", { type: "resume" })).toBe(CREATED);
    expect(times("interrupted", { type: "recovered", asked_after: undefined })).toBe(CREATED);
  });

  it("cancels queued prompts when a client closes it or it ends, and writes its end before it says so", () => {
    for (const phase of PHASES) {
      const { released, ended: end = [] } = TRANSITIONS[phase];
      if (released && phase !== "interrupted" && phase !== "ended") expect(released).toContain("cancel");
      if (end.length === 1 || end.length === 0) continue;
      expect(end).toEqual(["ended", "notify", "cancel", "write", "withdraw", "announce", "forget"]);
    }
  });
});

it("a stored session is parked, or interrupted if a turn was open, or ended", () => {
  expect(storedPhase(record)).toBe("parked");
  expect(storedPhase(running)).toBe("interrupted");
  expect(storedPhase(ended)).toBe("ended");
});
