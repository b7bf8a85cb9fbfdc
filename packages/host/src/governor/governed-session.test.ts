import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import type { SessionPort } from "../control/ask-clients.ts";
import type { GovernorContext } from "./context.ts";
import { GovernedSession, Turn } from "./governed-session.ts";

const toolNames = { members: [], aliases: [], kinds: {} };
const context = { entry: { toolNames } } as unknown as GovernorContext;
const begun = () => new Turn("t1", "2026-01-01T00:00:00.000Z", () => []);

test("aborts its signal with the reason when a turn is cancelled", () => {
  const turn = begun();
  const { signal } = turn;
  expect([turn.isOver, signal.aborted]).toEqual([false, false]);
  turn.cancel("a client cancelled it");
  expect([turn.isOver, turn.isCancelled, signal.reason]).toMatchObject([
    true,
    true,
    { message: "a client cancelled it" },
  ]);
  turn.finish();
  expect(signal.reason).toMatchObject({ message: "a client cancelled it" });
});

test("who listens only after its end learns the same", () => {
  const cancelled = begun();
  cancelled.cancel("too late");
  expect(cancelled.signal.reason).toMatchObject({ message: "too late" });
  const over = begun();
  over.finish();
  expect([over.isCancelled, over.signal.aborted]).toEqual([false, true]);
});

test("waits for a write that fails, without an unhandled rejection before its end", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const turn = begun();
  turn.awaits(Promise.reject(new Error("the disk is full")));
  await nextTurn();
  await turn.written();
  expect([unhandled, turn.written()]).toEqual([[], undefined]);
});

test("forgets file permits and the details of ended calls at the end of a turn", () => {
  const port = { record: { id: "s", agent_session_id: "a" }, clients: {} } as unknown as SessionPort;
  const session = new GovernedSession(context, port, { cwd: "/w", roots: ["/w"] });
  session.beginTurn(begun());
  expect(session.hasToolCalls).toBe(false);
  const call = { id: "1", call: { tool_name: "read" }, entry: undefined };
  session.permits.add({ access: "read", path: "/w/a", ...call, turn: session.turn });
  session.toolCalls.note({ toolCallId: "1", rawInput: { path: "/w/a" }, status: "completed" });
  session.toolCalls.conclude("1");
  session.endTurn(5);
  expect(session.permits.find("read", "/w/a")).toEqual([]);
  expect(session.toolCalls.get("1")?.reported).toEqual({ status: "completed" });
  expect([session.turn, session.idleSince, session.hasToolCalls]).toEqual([undefined, 5, true]);
});

test("dates a call that is announced only when it has ended from the begin of its turn", () => {
  const port = { record: { id: "s", agent_session_id: "a" }, clients: {} } as unknown as SessionPort;
  const session = new GovernedSession(context, port, { cwd: "/w", roots: ["/w"] });
  const turn = begun();
  session.beginTurn(turn);
  session.endTurn(Date.parse(turn.started) + 60_000);
  const call = session.toolCalls.note({ toolCallId: "1", status: "completed" }, Number.MAX_SAFE_INTEGER);
  expect(call.since).toBe(Date.parse(turn.started));
});
