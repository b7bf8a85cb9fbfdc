import type { SessionRecord } from "@reins/host";
import { describe, expect, test } from "vitest";
import { Eviction } from "./agent-runner.ts";

const NOW = Date.parse("2026-01-02T12:00:00Z");
const TTL_MS = 30 * 60_000;

type Unused = Pick<SessionRecord, "id" | "last_activity"> & { agent?: string; busy?: boolean };

/** Eviction on sessions that the test lists, with the ones it ended. */
function newEviction(sessions: readonly Unused[], { standing = "" } = {}) {
  const ended: unknown[] = [];
  const asked: { before: string; after: string | undefined }[] = [];
  const busy = new Set(sessions.filter((one) => one.busy).map(({ id }) => id));
  const records = sessions.map(({ id, last_activity, agent = "coder" }) => ({
    ...{ id, last_activity, agent, principal: "local" },
  }));
  const local = { id: "local", tenant: "default" };
  const identity = {
    listTenants: async () => [{ id: "default" }],
    local: () => local,
    current: async () => local,
    subjectFor: ({ agent }: { agent: string }) => ({ trust: agent === standing ? "standing" : "registered" }),
  };
  const query = async (_: unknown, __: unknown, range: { before: string; after?: string; limit: number }) => {
    asked.push({ before: range.before, after: range.after });
    const start = records.findIndex(({ id }) => id === range.after) + 1;
    return records.slice(start, start + range.limit);
  };
  const eviction = new Eviction({
    hub: {
      tenants: { serves: () => true },
      live: (id: string) => ({ isBusy: busy.has(id), record: records.find((one) => one.id === id) }),
    } as never,
    harness: { identity, policies: { roster: {} }, store: { query } } as never,
    haak: {
      sessions: { used: () => undefined } as never,
      end: async (_, { id }, reason) => void ended.push([id, reason]),
    },
    clock: { now: () => new Date(NOW) },
    ttlMs: TTL_MS,
  });
  return { eviction, ended, asked, busy };
}

const minutesAgo = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString();

describe("eviction", () => {
  test("closes sessions that were last active before the TTL", async () => {
    const { eviction, ended, asked } = newEviction([{ id: "old", last_activity: minutesAgo(31) }]);
    await eviction.check();
    expect(ended).toEqual([["old", "idle_evicted"]]);
    expect(asked).toEqual([{ before: minutesAgo(30), after: undefined }]);
  });

  test("keeps a session that was used after it was listed", async () => {
    const { eviction, ended } = newEviction([{ id: "used", last_activity: minutesAgo(1) }]);
    await eviction.check();
    expect(ended).toEqual([]);
  });

  test("keeps the sessions of standing agents", async () => {
    const { eviction, ended } = newEviction(
      [
        { id: "reed", last_activity: minutesAgo(60), agent: "reed" },
        { id: "coder", last_activity: minutesAgo(60) },
      ],
      { standing: "reed" },
    );
    await eviction.check();
    expect(ended).toEqual([["coder", "idle_evicted"]]);
  });

  test("marks a busy session and closes it once its turn is over", async () => {
    const { eviction, ended, busy } = newEviction([{ id: "s1", last_activity: minutesAgo(60), busy: true }]);
    await eviction.check();
    expect([eviction.isMarked("s1"), ended]).toEqual([true, []]);
    await eviction.turnOver("s1");
    expect(ended).toEqual([]);
    busy.clear();
    await eviction.turnOver("s1");
    await eviction.turnOver("s1");
    expect([eviction.isMarked("s1"), ended]).toEqual([false, [["s1", "idle_evicted"]]]);
  });

  test("ignores the end of a turn in a session that is not marked", async () => {
    const { eviction, ended } = newEviction([{ id: "s1", last_activity: minutesAgo(60) }]);
    await eviction.turnOver("s1");
    expect(ended).toEqual([]);
  });

  test("reads every page before it closes a session", async () => {
    const sessions = Array.from({ length: 450 }, (_, index) => ({
      id: `s${index}`,
      last_activity: minutesAgo(60),
    }));
    const { eviction, ended, asked } = newEviction(sessions);
    await eviction.check();
    expect(asked.map(({ after }) => after)).toEqual([undefined, "s199", "s399"]);
    expect(ended).toHaveLength(450);
  });
});
