import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@reins/acp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BLOCKED, type TestGovernance, testSession } from "../../test/governed-session.ts";
import type { GivenPermit } from "./tool-calls.ts";
import { concludeCall, endOpenCalls, noteUnended, recordUnknown } from "./ungated.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ungated-"));
});
afterAll(() => rm(folder, { recursive: true }));

const nothing = { effects: [], opaque: false };
const doing = (...effects: readonly object[]) => ({ factsOf: () => ({ effects, opaque: false }) });
const opaque = { factsOf: () => ({ effects: [], opaque: true }) };
const exec = { kind: "exec", command: "make" };
const allowed: GivenPermit = { kind: "given", entry: "cid-verdict", tool: "bash" };

/** A session in a turn whose agent reports calls. */
function reporting(governance: TestGovernance = {}) {
  const governed = testSession(governance);
  const { session, turn, clock, records } = governed;
  session.beginTurn(turn);
  const note = (toolCallId: string, status: string, more: JsonObject = {}) =>
    session.toolCalls.note({ sessionUpdate: "tool_call", toolCallId, status, ...more }, clock.now);
  /** Reports the end of a call; gives what clients see of it. */
  const end = async (id: string, status: string, more: JsonObject = {}) => {
    const update = { sessionUpdate: "tool_call_update", toolCallId: id, status, ...more };
    const call = session.toolCalls.note(update, clock.now);
    session.toolCalls.conclude(id);
    return concludeCall(session, call, update);
  };
  /** The outcomes on record, with whether no verdict came before. */
  const outcomes = () =>
    records.flatMap(({ quality, payload, tags }) =>
      quality === "tool_result"
        ? [`${String(Object(payload).outcome)}${tags?.includes("ungated") ? ", ungated" : ""}`]
        : [],
    );
  const isCancelled = () => governed.sent.some((one) => Array.isArray(one) && one[0] === "session/cancel");
  return { ...governed, note, end, outcomes, isCancelled };
}

describe("a call that was never asked for", () => {
  test("and is completed is decided after the fact, and shown as such", async () => {
    const { end, note, decided, outcomes, isCancelled } = reporting(doing(exec));
    note("c", "in_progress", { rawInput: { command: "make" } });
    const shown = await end("c", "completed");
    expect(decided).toMatchObject([{ event_type: "post_action" }]);
    expect(shown).toMatchObject({ _meta: { reins: { ungated: true, verdict: "allowed" } } });
    expect(outcomes()).toEqual(["completed, ungated"]);
    expect(isCancelled()).toBe(false);
  });

  test("ends the turn where a rule blocks it, and clients read why", async () => {
    const { end, note, shown, isCancelled } = reporting({ ...doing(exec), verdicts: [BLOCKED] });
    note("c", "in_progress", { rawInput: { command: "make" } });
    expect(await end("c", "completed")).toMatchObject({ _meta: { reins: { verdict: "blocked" } } });
    expect(isCancelled()).toBe(true);
    expect(JSON.stringify(shown)).toContain("it may not");
  });

  test("and fails with nothing to see of it was refused by the agent itself: nothing is decided", async () => {
    const { end, note, decided, outcomes } = reporting();
    note("c", "pending", { rawInput: { path: "/w/a" } });
    expect(await end("c", "failed")).toMatchObject({ _meta: { reins: { outcome: "refused by the agent" } } });
    expect([decided, outcomes()]).toEqual([[], ["refused by the agent, ungated"]]);
  });

  test.each<[string, TestGovernance, JsonObject]>([
    ["is a command, which may have done its work", doing(exec), { rawInput: { command: "make" } }],
    ["reaches the network", doing({ kind: "net", host: "*" }), {}],
    ["had a terminal", {}, { content: [{ type: "terminal", terminalId: "t" }] }],
    ["ran, and what it did is unknown", opaque, { status: "in_progress" }],
    [
      "ran in an unknown place",
      doing({ kind: "read", path: "/x", place: "unknown" }),
      { status: "in_progress" },
    ],
  ])("and fails is taken for begun where it %s", async (_, governance, more) => {
    const { end, note, decided } = reporting(governance);
    note("c", "pending", more);
    await end("c", "failed");
    expect(decided.length).toBeGreaterThan(0);
  });

  test("and fails is taken for begun where a file that it names was changed since, and not before", async () => {
    const [changed, old] = [join(folder, "changed"), join(folder, "old")];
    await writeFile(changed, "");
    await writeFile(old, "");
    const since = Date.now() + 60_000;
    for (const [path, from, isBegun] of [
      [changed, 0, true],
      [old, since, false],
    ] as const) {
      const { end, note, decided, clock } = reporting(doing({ kind: "write", path, place: "workspace" }));
      clock.now = from;
      note("c", "pending", { rawInput: { path } });
      await end("c", "failed");
      expect(decided.length > 0).toBe(isBegun);
    }
  });

  test.each([
    ["holds a line of the file", "before\n   a telling line of it\nafter", true],
    ["holds only a line too short to tell", "short", false],
    ["is nothing", undefined, false],
  ])("and fails is taken for begun where what it gave back %s", async (_, text, isBegun) => {
    const path = join(folder, "read");
    await writeFile(path, "first\na telling line of it\nshort\n");
    const { end, note, decided } = reporting(doing({ kind: "read", path, place: "workspace" }));
    note("c", "pending", { rawInput: { path } });
    await end("c", "failed", { ...(text !== undefined && { rawOutput: { error: text } }) });
    expect(decided.length > 0).toBe(isBegun);
  });

  test("and is not observed is neither decided nor shown", async () => {
    const { session, note, decided } = reporting({ profile: { isObserved: false } });
    note("c", "in_progress");
    session.toolCalls.permit("c", allowed);
    await noteUnended(session, { isCancelled: false });
    expect(decided).toEqual([]);
  });
});

describe("an allowed call", () => {
  test("has one result, with the files that Reins wrote for it", async () => {
    const { session, note, end, records, decided } = reporting();
    note("c", "in_progress");
    session.toolCalls.permit("c", allowed);
    const written = { path: "/w/a", content_hash: "00", outcome: "completed" } as const;
    session.toolCalls.beginWrite("c", "cid-verdict")?.(written);
    await end("c", "completed");
    const results = records.filter(({ quality }) => quality === "tool_result");
    expect(results).toHaveLength(1);
    expect(JSON.stringify(results)).toContain("/w/a");
    expect(decided).toEqual([]);
  });

  test("without an end has an unknown outcome, once", async () => {
    const { session, note, outcomes } = reporting();
    note("c", "in_progress");
    session.toolCalls.permit("c", allowed);
    await recordUnknown(session);
    await recordUnknown(session);
    expect(outcomes()).toEqual(["unknown"]);
  });
});

describe("at the end of a turn, a call that has not ended", () => {
  test("is decided as of unknown outcome where it was begun unasked", async () => {
    const { session, note, decided, outcomes } = reporting();
    note("c", "in_progress");
    await noteUnended(session, { isCancelled: false });
    expect([decided.length, outcomes()]).toEqual([1, ["unknown, ungated"]]);
  });

  test.each([
    ["cancelled", true, "refused by the agent, ungated"],
    ["not cancelled", false, "unknown, ungated"],
  ])("and was only announced: the turn was %s", async (_, isCancelled, outcome) => {
    const { session, note, outcomes } = reporting({ factsOf: () => nothing });
    note("c", "pending");
    await noteUnended(session, { isCancelled });
    expect(outcomes()).toEqual([outcome]);
  });

  test("is dropped by the agent where another one that came after it was refused", async () => {
    const { session, note, decided, outcomes } = reporting();
    note("c", "pending");
    note("d", "pending");
    session.toolCalls.permit("d", { kind: "refused" });
    await noteUnended(session, { isCancelled: false });
    expect([decided, outcomes()]).toEqual([[], ["refused by the agent, ungated"]]);
  });

  test("is looked at once", async () => {
    const { session, note, decided } = reporting();
    note("c", "in_progress");
    await noteUnended(session, { isCancelled: false });
    await noteUnended(session, { isCancelled: false });
    expect(decided).toHaveLength(1);
  });
});

test("a session with more open calls than are remembered records them all, and its turn ends", async () => {
  const { session, note, outcomes, isCancelled } = reporting();
  for (const id of ["a", "b"]) note(id, "in_progress");
  note("c", "in_progress");
  session.toolCalls.permit("c", allowed);
  await endOpenCalls(session);
  expect(outcomes()).toHaveLength(3);
  expect(session.toolCalls.open).toEqual([]);
  expect(isCancelled()).toBe(true);
});
