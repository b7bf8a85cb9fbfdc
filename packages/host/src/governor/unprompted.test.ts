import { describe, expect, test } from "vitest";
import { ALLOWED, BLOCKED, testSession } from "../../test/governed-session.ts";
import { mayWork, noticeUpdate } from "./unprompted.ts";

const chunk = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "I go on" } };

describe("an agent may work", () => {
  test("in a turn, when its session is closing, and always if it is not observed", async () => {
    const { session, turn, decided } = testSession();
    session.beginTurn(turn);
    expect(await mayWork(session, "x")).toBe(true);
    session.endTurn(0);
    session.isClosing = true;
    expect(await mayWork(session, "x")).toBe(true);
    const { session: native } = testSession({ profile: { isObserved: false } });
    expect([await mayWork(native, "x"), decided]).toEqual([true, []]);
  });

  test("outside of a turn where the rules allow it, decided once until it pauses", async () => {
    const { session, clock, decided, sent } = testSession();
    expect([await mayWork(session, "plan"), await mayWork(session, "plan")]).toEqual([true, true]);
    expect(decided.map(({ event_type }) => event_type)).toEqual(["pre_prompt", "post_action"]);
    expect(decided[1]?.payload).toEqual({
      tool_name: "session/unprompted_turn",
      arguments: { began_with: "plan" },
    });
    clock.now += 10_001;
    await mayWork(session, "plan");
    expect([decided.length, sent]).toEqual([4, []]);
  });

  test("not where they block it: it is cancelled, again while it continues, and ended at last", async () => {
    const { session, clock, sent, shown, stops } = testSession({ verdicts: [ALLOWED, BLOCKED] });
    const cancels = () => sent.length;
    expect([await mayWork(session, "plan"), cancels()]).toEqual([false, 1]);
    expect(JSON.stringify(shown)).toContain("works without a prompt, and was asked to stop: it may not");
    expect([await mayWork(session, "plan"), cancels()]).toEqual([false, 1]);
    clock.now += 2_001;
    expect([await mayWork(session, "plan"), cancels()]).toEqual([false, 2]);
    clock.now += 8_000;
    expect([await mayWork(session, "plan"), stops]).toEqual([false, ["it keeps working without a prompt"]]);
  });
});

test("what an agent asks for while it replays is outside of every turn, and what it replays is no work", async () => {
  const { session, decided } = testSession({ verdicts: [BLOCKED] });
  session.replaying = true;
  noticeUpdate(session, { sessionUpdate: "tool_call", toolCallId: "1" });
  expect(decided).toEqual([]);
  expect(await mayWork(session, "fs/write_text_file")).toBe(false);
});

describe("an update outside of a turn", () => {
  test("shows work, unless it comes right behind the turn or greets", () => {
    const { session, clock, decided } = testSession();
    session.idleSince = clock.now;
    noticeUpdate(session, chunk);
    clock.now += 4_999;
    noticeUpdate(session, chunk);
    expect(decided).toEqual([]);
    session.lastTurn = "cid";
    noticeUpdate(session, chunk);
    expect(decided).toHaveLength(1);
  });

  test("that announces a call shows work at once, and one that reports state never", () => {
    const { session, clock, decided } = testSession();
    session.idleSince = clock.now;
    noticeUpdate(session, { sessionUpdate: "config_option_update" });
    expect(decided).toEqual([]);
    noticeUpdate(session, { sessionUpdate: "tool_call", toolCallId: "1" });
    expect(decided).toHaveLength(1);
  });

  test("charges what the session costs beyond what it has cost", () => {
    const { session, charged } = testSession();
    session.cost = 2;
    const usage = (amount: number) => ({ sessionUpdate: "usage_update", cost: { amount, currency: "USD" } });
    noticeUpdate(session, usage(5));
    noticeUpdate(session, usage(4));
    expect([charged, session.cost]).toEqual([[{ cost: 3 }], 5]);
  });
});
