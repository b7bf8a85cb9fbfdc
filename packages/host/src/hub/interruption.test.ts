import type { JsonObject } from "@reins/acp";
import type { Draft, EntryRange, PlacedEntry } from "@reins/ledger";
import { describe, expect, test } from "vitest";
import type { LoggedEvent } from "../log/logged-event.ts";
import { type Session, TURN_OVER, turnsOf, UPDATE } from "../sessions/session.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { endCalls, eventsAfter, paged, recordInterruption } from "./interruption.ts";

const NOON = "2026-02-04T12:00:00.000Z";
const RECORD: SessionRecord = {
  ...{ id: "s", key: "stub:acp:1", agent: "stub", tenant: "default", user: "ann", principal: "tok_1" },
  ...{ agent_session_id: "a", cwd: "/w", additional_directories: [], mode: "persistent", state: "running" },
  ...{ title: undefined, metadata: {}, created_at: NOON, last_activity: NOON, turn_after: 10 },
};

type Entry = {
  readonly cid: string;
  readonly quality: string;
  readonly target?: string;
  readonly payload: object;
};
type Hub = Parameters<typeof recordInterruption>[0];

const verdict = (cid: string, more: object = {}): Entry => ({
  cid,
  quality: "policy_verdict",
  target: `tool-${cid}`,
  payload: { event_type: "pre_action", verdict: "allowed", enforcement: "asked", ...more },
});
const result = (verdict: string): Entry => ({
  cid: `of-${verdict}`,
  quality: "tool_result",
  payload: { verdict },
});

/** A ledger with entries of the session, oldest first, and a log with messages of it. */
function open(entries: readonly Entry[], messages: readonly Partial<LoggedEvent>[] = [], isKnown = true) {
  const recorded: Draft[] = [];
  const ranges: EntryRange[] = [];
  const placed = entries.map((entry, seq) => ({ seq, entry }) as unknown as PlacedEntry);
  const harness = {
    identity: {
      current: async () => (isKnown ? { id: "tok_1" } : undefined),
      subjectFor: ({ agent, session, sessionKey }: Record<string, string>) => ({
        ...{ agent, session, session_key: sessionKey, tenant: "default", enforcement: "asked" },
      }),
      refusedSubject: ({ session }: Record<string, string>) => ({
        agent: "none",
        session,
        tenant: "default",
      }),
    },
    ledger: {
      read: async (range: EntryRange) => {
        ranges.push(range);
        if (range.tag !== undefined) return placed.filter(({ entry }) => entry.cid === range.tag);
        const { after = Number.POSITIVE_INFINITY, limit = 1 } = range;
        return placed
          .toReversed()
          .filter(({ seq }) => seq < after)
          .slice(0, Math.min(limit, 2));
      },
    },
    record: async (drafts: readonly Draft[]) => void recorded.push(...drafts),
  };
  const log = {
    page: async (_: string, [channel]: readonly string[], after: number) =>
      messages.filter(({ session, order = 0 }) => session === channel && order > after).slice(0, 2),
    written: async () => undefined,
  };
  return { hub: { harness, log } as unknown as Hub, recorded, ranges };
}

const unknownIn = (recorded: readonly Draft[]) =>
  recorded.flatMap(({ quality, payload }) => (quality === "tool_result" ? [Object(payload).verdict] : []));

describe("a turn that was cut off", () => {
  test("is recorded, with an unknown outcome for each allowed action without a result, oldest first", async () => {
    const { hub, recorded } = open([
      verdict("before"),
      { cid: "turn", quality: "turn", payload: {} },
      verdict("a"),
      verdict("b", { verdict: "modify", enforcement: "performed" }),
      verdict("c"),
      result("a"),
    ]);
    expect(await recordInterruption(hub, RECORD)).toBe(true);
    expect(unknownIn(recorded)).toEqual(["b", "c"]);
    expect(recorded).toMatchObject([
      { quality: "tool_result", tags: ["unknown"], payload: { enforcement: "performed" } },
      { quality: "tool_result", target: "tool-c", payload: { outcome: "unknown", enforcement: "asked" } },
      { quality: "session_lifecycle", entity_id: "stub:acp:1" },
    ]);
  });

  test.each([
    ["blocked", { verdict: "blocked" }],
    ["asked about", { verdict: "ask" }],
    ["a prompt", { event_type: "pre_prompt" }],
    ["done before its verdict", { event_type: "post_action" }],
    [
      "read for a request to a model",
      { enforcement: "performed", facts: { claims: { kind: "perception" } } },
    ],
  ])("has no outcome of what was %s", async (_, more) => {
    const { hub, recorded } = open([verdict("a", more)]);
    await recordInterruption(hub, RECORD);
    expect(unknownIn(recorded)).toEqual([]);
  });

  test("has the outcome of a call whose agent merely claims that it prepares a request", async () => {
    const { hub, recorded } = open([verdict("a", { facts: { claims: { kind: "perception" } } })]);
    await recordInterruption(hub, RECORD);
    expect(unknownIn(recorded)).toEqual(["a"]);
  });

  test("is recorded under the name of an agent whose principal is gone", async () => {
    const { hub, recorded } = open([], [], false);
    await recordInterruption(hub, { ...RECORD, acts_as: "reed" });
    expect(recorded).toMatchObject([{ actor: "reed", entity_id: "stub:acp:1" }]);
  });

  test("is none where the ledger ends with a turn that ended after the last activity", async () => {
    const turn = (completed_at: string) => [{ cid: "t", quality: "turn", payload: { completed_at } }];
    expect(await recordInterruption(open(turn(NOON)).hub, RECORD)).toBe(false);
    expect(await recordInterruption(open(turn("2026-02-04T11:59:59.000Z")).hub, RECORD)).toBe(true);
  });
});

describe("a turn that ended and is only in the log", () => {
  const draft = {
    quality: "turn",
    actor: "stub",
    target: "t",
    entity_id: "e",
    tags: ["turn:1"],
    payload: {},
  };
  const message = (order: number, own: JsonObject = draft) => ({
    ...{ session: turnsOf("s"), order },
    message: { method: TURN_OVER, params: { draft: own } },
  });

  test("is recorded as it was, the last of them, and not as cut off", async () => {
    const messages = [
      message(9, { ...draft, tags: ["old"] }),
      message(11, { ...draft, tags: ["x"] }),
      message(12),
    ];
    const { hub, recorded } = open([verdict("a")], messages);
    expect(await recordInterruption(hub, RECORD)).toBe(false);
    expect(recorded).toEqual([draft]);
  });

  test("is not recorded twice", async () => {
    const { hub, recorded, ranges } = open([{ ...verdict("turn:1"), quality: "other" }], [message(11)]);
    expect(await recordInterruption(hub, RECORD)).toBe(false);
    expect(recorded).toEqual([]);
    expect(ranges.at(-1)).toMatchObject({ tag: "turn:1" });
  });

  test("of an earlier turn does not count, nor does a message that is no entry", async () => {
    const { hub } = open([], [message(10), message(11, { ...draft, quality: "tool_call" })]);
    expect(await recordInterruption(hub, RECORD)).toBe(true);
  });
});

describe("the calls of a turn that was cut off", () => {
  const update = (order: number, sessionUpdate: string, toolCallId: string, status?: string) => ({
    ...{ session: "s", order },
    message: { method: UPDATE, params: { update: { sessionUpdate, toolCallId, ...(status && { status }) } } },
  });

  test("get an end where they have none, each once, and those before the turn get none", async () => {
    const { hub } = open(
      [],
      [
        update(5, "tool_call", "earlier", "pending"),
        update(11, "tool_call", "open", "pending"),
        update(12, "tool_call", "done", "pending"),
        update(13, "tool_call_update", "open", "in_progress"),
        update(14, "tool_call_update", "done", "completed"),
        update(15, "tool_call", "failed", "failed"),
        update(16, "plan", "no call"),
      ],
    );
    const shown: JsonObject[] = [];
    const session = { hub, record: RECORD, update: async (one: JsonObject) => void shown.push(one) };
    await endCalls(session as unknown as Session, 10);
    expect(shown).toMatchObject([
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "open",
        status: "failed",
        _meta: { reins: { interrupted: true, outcome: "unknown" } },
      },
    ]);
  });
});

test("pages are read until one is empty, each after the last item before it", async () => {
  const asked: (number | undefined)[] = [];
  const read = async (last: number | undefined) => {
    asked.push(last);
    return [1, 2, 3, 4, 5].filter((one) => one > (last ?? 0)).slice(0, 2);
  };
  expect(await Array.fromAsync(paged(read))).toEqual([1, 2, 3, 4, 5]);
  expect(asked).toEqual([undefined, 2, 4, 5]);
  const { hub } = open(
    [],
    [
      { session: "c", order: 1 },
      { session: "c", order: 2 },
      { session: "d", order: 3 },
    ],
  );
  const orders = await Array.fromAsync(eventsAfter(hub.log, "default", "c", 1), ({ order }) => order);
  expect(orders).toEqual([2]);
});
