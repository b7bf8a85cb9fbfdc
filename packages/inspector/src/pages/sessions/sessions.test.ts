import { Session } from "@reins/api";
import { describe, expect, test } from "vitest";
import { upsertSession } from "./sessions.ts";

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
