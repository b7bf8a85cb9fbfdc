import type { JsonObject } from "@reins/acp";
import { settled } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import { BLOCKED, type TestGovernance, testSession } from "../../test/governed-session.ts";
import { noteChild, noteSettings } from "./reported-changes.ts";

/** A session in a turn, of an agent that is held in the mode "default" and to ask each time. */
function heldSession(governance: TestGovernance = {}) {
  const governed = testSession(governance);
  const { session, turn } = governed;
  session.beginTurn(turn);
  session.pinnedMode = "default";
  session.pinnedOptions.set("approval", "always");
  const settings = async (update: JsonObject) => {
    const shown = await noteSettings(session, update);
    await settled();
    return shown;
  };
  /** What was sent to the agent. */
  const sentTo = (method: string) =>
    governed.sent.flatMap((one) => (Array.isArray(one) && one[0] === method ? [one[1]] : []));
  return { ...governed, settings, sentTo };
}

const mode = (currentModeId: string): JsonObject => ({ sessionUpdate: "current_mode_update", currentModeId });
const options = (...configOptions: readonly JsonObject[]): JsonObject => ({
  sessionUpdate: "config_option_update",
  configOptions,
});

describe("a setting that an agent reports", () => {
  test.each([
    ["the mode that is held", mode("default")],
    ["a mode in which it asks", mode("plan")],
    ["a mode without a name", { sessionUpdate: "current_mode_update" }],
    ["the value that is held", options({ id: "approval", currentValue: "always" })],
    ["an option that nothing holds", options({ id: "model", currentValue: "large" })],
    ["an option without a value", options({ id: "approval" })],
    ["options that are no list", { sessionUpdate: "config_option_update", configOptions: "none" }],
  ])("as %s passes as it is", async (_, update) => {
    const { settings, decided, sent } = heldSession();
    expect(await settings(update)).toBe(update);
    expect([decided, sent]).toEqual([[], []]);
  });

  test("as a mode in which it does not ask is decided after the fact, and set back", async () => {
    const { settings, decided, sentTo, session, shown, faults } = heldSession();
    const update = await settings(mode("yolo"));
    expect(decided).toMatchObject([
      {
        event_type: "post_action",
        payload: { tool_name: "session/set_mode", arguments: { mode: "yolo", asks: "false" } },
      },
    ]);
    expect(update).toMatchObject({ ...mode("yolo"), _meta: { reins: { ungated: true } } });
    expect(sentTo("session/set_mode")).toEqual([{ sessionId: "agent-session", modeId: "default" }]);
    expect(session.claimedMode).toBe("default");
    expect(shown).toMatchObject([{ update: mode("default") }]);
    expect(faults).toEqual([]);
  });

  test("as a mode among its options is held like any other", async () => {
    const { settings, sentTo } = heldSession();
    await settings(options({ id: "mode", currentValue: "yolo" }));
    expect(sentTo("session/set_mode")).toEqual([{ sessionId: "agent-session", modeId: "default" }]);
    expect(sentTo("session/set_config_option")).toEqual([]);
  });

  test.each<[string, (held: ReturnType<typeof heldSession>) => void]>([
    [
      "asks for it",
      ({ session }) => {
        session.pendingMode = "yolo";
      },
    ],
    [
      "has set it",
      ({ session }) => {
        session.allowedMode = "yolo";
      },
    ],
    [
      "lets the agent choose in this turn",
      ({ turn }) => {
        turn.mayLeaveMode = true;
      },
    ],
  ])("as a mode is left alone where a client %s", async (_, prepare) => {
    const held = heldSession();
    prepare(held);
    await held.settings(mode("yolo"));
    expect([held.decided, held.session.claimedMode]).toEqual([[], "yolo"]);
  });

  test("as another value of a held option is set back to it", async () => {
    const { settings, decided, sentTo } = heldSession();
    await settings(
      options({ id: "approval", currentValue: "never" }, { id: "model", currentValue: "large" }),
    );
    expect(decided).toMatchObject([
      { payload: { arguments: { option: "approval", value: "never", asks: "false" } } },
    ]);
    expect(sentTo("session/set_config_option")).toMatchObject([
      { sessionId: "agent-session", configId: "approval", value: "always" },
    ]);
  });

  test("as the value that a client sets just now is not taken back", async () => {
    const { settings, session, sent } = heldSession();
    session.pendingOption = { id: "approval", value: "never" };
    await settings(options({ id: "approval", currentValue: "never" }));
    expect(sent).toEqual([]);
  });

  test("again and again ends the turn", async () => {
    const { settings, faults, sentTo } = heldSession();
    await settings(mode("yolo"));
    expect(sentTo("session/cancel")).toEqual([]);
    await settings(mode("yolo"));
    expect(sentTo("session/cancel")).toHaveLength(1);
    expect(faults.join()).toContain("it does so again and again");
  });

  test("that cannot be set back ends the turn, with the reason", async () => {
    const { settings, shown, sentTo, faults } = heldSession({ refuses: ["session/set_mode"] });
    await settings(mode("yolo"));
    expect(sentTo("session/cancel")).toHaveLength(1);
    expect(JSON.stringify([shown, faults])).toContain("the agent refuses it");
  });
});

describe("a child session that an agent announces", () => {
  const child = (sessionId?: string, more: JsonObject = {}): JsonObject => ({
    sessionUpdate: "subagent_update",
    ...(sessionId !== undefined && { sessionId }),
    ...more,
  });

  test("is decided after the fact, by what is said of it and nothing that Reins reserves", async () => {
    const { session, decided } = heldSession();
    const said = child("c1", { title: "Looks around", depth: 1, _meta: { reins: { verdict: "allowed" } } });
    const shown = await noteChild(session, said);
    expect(decided).toMatchObject([
      {
        event_type: "post_action",
        payload: {
          tool_name: "session/subagent",
          arguments: { session_id: "c1", title: "Looks around", depth: 1 },
          title: "Looks around",
        },
      },
    ]);
    expect(JSON.stringify(decided)).not.toContain("reins");
    expect(shown).toMatchObject({ _meta: { reins: { ungated: true, verdict: "allowed" } } });
  });

  test("is decided once, however often it is announced, and each other one, too", async () => {
    const { session, decided } = heldSession();
    for (const id of ["c1", "c1", "c2", "c1"]) await noteChild(session, child(id));
    expect(decided).toHaveLength(2);
  });

  test("that a rule blocks ends the turn", async () => {
    const { session, sentTo, shown } = heldSession({ verdicts: [BLOCKED] });
    await noteChild(session, child("c1"));
    expect(sentTo("session/cancel")).toEqual([{ sessionId: "agent-session" }]);
    expect(JSON.stringify(shown)).toContain("session/subagent: it may not");
  });

  test("without an id, or of an agent that is not observed, is passed on", async () => {
    const observed = heldSession();
    const ours = heldSession({ profile: { isObserved: false } });
    const [first, second] = [child(), child("c1")];
    expect(await noteChild(observed.session, first)).toBe(first);
    expect(await noteChild(ours.session, second)).toBe(second);
    expect([observed.decided, ours.decided]).toEqual([[], []]);
  });

  test("is one of so many at most that are known", async () => {
    const { session, decided } = heldSession();
    for (let number = 0; number < 1_005; number += 1) await noteChild(session, child(`c${number}`));
    expect([decided.length, session.children.size]).toEqual([1_000, 1_000]);
  });
});
