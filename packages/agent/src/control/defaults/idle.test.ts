import { describe, expect, it } from "vitest";
import { decideIdle, IDLE_RULES } from "./idle.ts";

const at = (hour: number) => new Date(2026, 0, 1, hour, 30);
const night = { ...IDLE_RULES, quietHours: { from: 22, to: 7 } };

const decide = ({ idle = 60_000, hour = 12, load = 0.1, rules = IDLE_RULES }) =>
  decideIdle({ idle_duration_ms: idle, idle_reason: "turn ended" }, { now: at(hour), load }, rules).decision;

describe("background work", () => {
  it("runs when nobody wants anything and the machine has time", () => {
    expect(decide({})).toBe("allow");
  });

  it("waits while somebody may come back", () => {
    expect(decide({ idle: 5_000 })).toBe("defer");
  });

  it("waits while the machine is busy", () => {
    expect(decide({ load: 1.5 })).toBe("defer");
  });

  it.each([
    [21, "allow"],
    [22, "defer"],
    [23, "defer"],
    [0, "defer"],
    [6, "defer"],
    [7, "allow"],
  ])("at %i o'clock, with quiet hours from 22 to 7: %s", (hour, decision) => {
    expect(decide({ hour, rules: night })).toBe(decision);
  });

  it("keeps quiet hours within a day", () => {
    const noon = { ...IDLE_RULES, quietHours: { from: 12, to: 14 } };
    expect([11, 12, 13, 14].map((hour) => decide({ hour, rules: noon }))).toEqual([
      "allow",
      "defer",
      "defer",
      "allow",
    ]);
  });
});
