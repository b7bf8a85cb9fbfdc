import { Session } from "@reins/api";
import { describe, expect, test } from "vitest";
import { aSession } from "../../../test/examples.ts";
import { filterSessions, type SessionFilter, sessionFilter, upsertSession } from "./sessions.ts";

const session = (id: string, second: number, more: Partial<Session> = {}): Session => {
  const at = `2026-01-01T00:00:0${second}.000Z`;
  return Session.parse({
    id,
    key: `native:acp:${id}`,
    agent: "native",
    user: "you",
    principal: "local",
    agent_session_id: id,
    cwd: "/project",
    additional_directories: [],
    mode: "persistent",
    state: "idle",
    metadata: {},
    settings: {},
    event_count: 0,
    agent_runs: true,
    created_at: at,
    last_activity: at,
    ...more,
  });
};

describe("upsertSession", () => {
  const known = [session("b", 2), session("a", 1)];

  test("moves a session that was just used to the front", () => {
    const changed = session("a", 3, { state: "running" });
    expect(upsertSession(known, changed, 10)).toEqual([changed, known[0]]);
  });

  test("inserts an old session in the server's order", () => {
    expect(upsertSession(known, session("c", 0), 10).map(({ id }) => id)).toEqual(["b", "a", "c"]);
    expect(upsertSession(known, session("c", 2), 10).map(({ id }) => id)).toEqual(["c", "b", "a"]);
  });

  test("keeps at most the requested number", () => {
    expect(upsertSession(known, session("c", 3), 2).map(({ id }) => id)).toEqual(["c", "b"]);
  });
});

describe("the filter of sessions", () => {
  const ended = {
    reason: "terminated",
    terminated_by: "daemon",
    at: "2026-01-01T00:00:00.000Z",
  } as const;
  const sessions = [
    aSession({ id: "1", state: "running", title: "Count Frogs", cwd: "/w/pond" }),
    aSession({ id: "2", agent: "reed", cwd: "/w/lake" }),
    aSession({ id: "3", ended, title: "Old frogs" }),
  ];
  const ids = (filter: SessionFilter, text = "") =>
    filterSessions(sessions, filter, text).map(({ id }) => id);

  test.each([
    ["all", ["1", "2", "3"]],
    ["open", ["1", "2"]],
    ["running", ["1"]],
    ["ended", ["3"]],
  ] as const)("%s shows %j", (filter, expected) => {
    expect(ids(filter)).toEqual(expected);
  });

  test.each([
    ["frogs", ["1", "3"]],
    ["  FROGS ", ["1", "3"]],
    ["reed", ["2"]],
    ["/w/pond", ["1"]],
    ["2", ["2"]],
    ["heron", []],
  ])("finds %j in title, agent, folder or id", (text, expected) => {
    expect(ids("all", text)).toEqual(expected);
  });

  test("is open sessions for an unknown value", () => {
    expect(["open", "running", "ended", "all", "", "constructor"].map(sessionFilter)).toEqual([
      "open",
      "running",
      "ended",
      "all",
      "open",
      "open",
    ]);
  });
});
