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

const [ACCEPTED, STARTED, FAILED, RESUME, RETAINED, PROMPTED, TURN_ENDED, TURN_RECORDED] = EVENTS;
const [AGENT_LOST, STOPPED, RELEASED, CUT, RECOVERED, ANNOTATED, ENDED, REOPENED] = EVENTS.slice(8);

describe("the life of a session", () => {
  it.each<[string, SessionPhase, readonly (readonly [SessionEvent | undefined, SessionPhase])[]]>([
    [
      "a start",
      "starting",
      [
        [ACCEPTED, "starting"],
        [STARTED, "idle"],
        [ANNOTATED, "idle"],
      ],
    ],
    ["a start that fails", "starting", [[FAILED, "ended"]]],
    [
      "a start whose agent dies",
      "starting",
      [
        [AGENT_LOST, "starting"],
        [FAILED, "ended"],
      ],
    ],
    [
      "a fork",
      "starting",
      [
        [ACCEPTED, "starting"],
        [STARTED, "idle"],
        [ANNOTATED, "idle"],
        [PROMPTED, "running"],
      ],
    ],
    [
      "a prompt",
      "idle",
      [
        [PROMPTED, "running"],
        [TURN_ENDED, "idle"],
        [TURN_RECORDED, "idle"],
      ],
    ],
    [
      "a queued prompt",
      "running",
      [
        [TURN_ENDED, "idle"],
        [PROMPTED, "running"],
        [TURN_RECORDED, "running"],
      ],
    ],
    [
      "a prompt to a parked session",
      "parked",
      [
        [RESUME, "resuming"],
        [ACCEPTED, "resuming"],
        [STARTED, "idle"],
        [PROMPTED, "running"],
      ],
    ],
    [
      "a resume that fails",
      "parked",
      [
        [RESUME, "resuming"],
        [FAILED, "parked"],
      ],
    ],
    [
      "a resume whose client closes it meanwhile",
      "resuming",
      [
        [RELEASED, "resuming"],
        [STARTED, "idle"],
        [AGENT_LOST, "parked"],
      ],
    ],
    [
      "an attach that moves it to other folders",
      "idle",
      [
        [RESUME, "resuming"],
        [ACCEPTED, "resuming"],
        [STARTED, "idle"],
      ],
    ],
    [
      "an attach that its agent rejects",
      "idle",
      [
        [RESUME, "resuming"],
        [RETAINED, "idle"],
      ],
    ],
    [
      "the reaping of its idle agent",
      "idle",
      [
        [AGENT_LOST, "parked"],
        [STOPPED, "parked"],
      ],
    ],
    [
      "the death of its agent in a turn",
      "running",
      [
        [AGENT_LOST, "parked"],
        [TURN_ENDED, "parked"],
        [STOPPED, "parked"],
        [TURN_RECORDED, "parked"],
      ],
    ],
    [
      "a cancelled turn that its agent does not end",
      "running",
      [
        [TURN_ENDED, "idle"],
        [AGENT_LOST, "parked"],
        [RESUME, "resuming"],
      ],
    ],
    [
      "a close by its client in a turn",
      "running",
      [
        [RELEASED, "parked"],
        [TURN_ENDED, "parked"],
        [STOPPED, "parked"],
      ],
    ],
    [
      "a kill in a turn",
      "running",
      [
        [STOPPED, "running"],
        [ENDED, "ended"],
        [TURN_ENDED, "ended"],
        [TURN_RECORDED, "ended"],
      ],
    ],
    [
      "an end while its agent starts",
      "starting",
      [
        [ENDED, "ended"],
        [STARTED, "ended"],
      ],
    ],
    [
      "an end and a reopening",
      "idle",
      [
        [ENDED, "ended"],
        [REOPENED, "parked"],
        [RESUME, "resuming"],
      ],
    ],
    [
      "a shutdown in a turn",
      "running",
      [
        [CUT, "interrupted"],
        [TURN_ENDED, "interrupted"],
        [STOPPED, "interrupted"],
      ],
    ],
    [
      "the recovery of a turn",
      "interrupted",
      [
        [RECOVERED, "parked"],
        [RESUME, "resuming"],
      ],
    ],
    ["the recovery of questions without a turn", "parked", [[RECOVERED, "parked"]]],
  ])("goes through %s", (_, phase, steps) => {
    let session = { phase, record: inPhase(phase) };
    for (const [event = expect.fail(), to] of steps) {
      session = transition(session, event, NOW);
      expect([event.type, session.phase]).toEqual([event.type, to]);
    }
  });

  it("records each end in its agent, but not that of a turn that was cut off", () => {
    for (const phase of PHASES) {
      const isCut = phase === "interrupted";
      expect(TRANSITIONS[phase].stopped).toEqual(isCut ? [phase] : [phase, "record"]);
    }
  });
});

it("a stored session is parked, or interrupted if a turn was open, or ended", () => {
  expect(storedPhase(record)).toBe("parked");
  expect(storedPhase(running)).toBe("interrupted");
  expect(storedPhase(ended)).toBe("ended");
});
