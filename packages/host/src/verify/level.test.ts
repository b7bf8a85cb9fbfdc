import { describe, expect, it } from "vitest";
import { findingOf } from "./level.ts";
import type { ProbeResult } from "./probe-result.ts";

const entry = { enforcement: { level: "asked" as const, unasked: [] } };

function result(probe: ProbeResult["probe"], more: Partial<ProbeResult> = {}): ProbeResult {
  return {
    setting: "plain",
    probe,
    answer: "reject",
    asked: [{ tool: "x", verdict: "blocked", enforcement: "asked" }],
    observed: [],
    happened: false,
    outcome: "blocked",
    ended: "end_turn",
    ...more,
  };
}

const asked = (enforcement: string) => ({ asked: [{ tool: "x", verdict: "blocked", enforcement }] });

describe("the level of an agent", () => {
  it("is the weakest that any verdict about an action had", () => {
    const level = (...levels: string[]) =>
      findingOf(
        levels.map((each) => result("write", asked(each))),
        [],
        entry,
      ).level;
    expect(level("performed", "performed")).toBe("performed");
    expect(level("performed", "confined")).toBe("confined");
    expect(level("performed", "asked", "confined")).toBe("asked");
  });

  it("is open as soon as anything ran that nobody had allowed", () => {
    expect(findingOf([result("write")], ["hook"], entry)).toMatchObject({ level: "open" });
    expect(findingOf([result("write", { outcome: "open" })], [], entry)).toMatchObject({ level: "open" });
  });

  it("is observed where it acts unasked, and where nothing at all was asked", () => {
    const unasked: Partial<ProbeResult> = { asked: [], outcome: "observed" };
    expect(findingOf([result("command", unasked)], [], entry)).toMatchObject({
      level: "observed",
      unasked: ["command"],
    });
    expect(findingOf([result("write", { asked: [], outcome: "withheld" })], [], entry)).toMatchObject({
      level: "observed",
    });
  });

  it("stays where only looking around is unasked; whether that is a fault the catalogue says", () => {
    const results = [result("write"), result("read", { asked: [], outcome: "observed" })];
    expect(findingOf(results, [], entry)).toMatchObject({ level: "asked", faults: [expect.any(String)] });
    const told = { enforcement: { level: "asked" as const, unasked: ["read in the workspace"] } };
    expect(findingOf(results, [], told)).toEqual({
      level: "asked",
      unasked: ["read"],
      faults: [],
    });
  });

  it("has a fault for each action that nothing was proved about", () => {
    const results = (["failed", "withheld", "untried", "open", "observed"] as const).map((outcome) =>
      result("write", { outcome }),
    );
    expect(findingOf(results, [], entry).faults).toHaveLength(5);
  });
});
