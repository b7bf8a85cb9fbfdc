import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { asEvent } from "./event.ts";
import { type ExplainFlags, explainSettings } from "./explain.ts";

const flags: ExplainFlags = {
  enforcement: "asked",
  user: "operator",
  tenant: "default",
  started: "interactive",
  mode: "default",
};
const roster = {
  trustOf: (agent: string) => (agent === "native" ? ("registered" as const) : ("unknown" as const)),
};
const now = new Date("2026-11-15T08:00:00Z");
const settle = (more: Partial<ExplainFlags>, event: object = {}) =>
  explainSettings({ ...flags, ...more }, asEvent(event), roster, now);

describe("the settings of reins policy explain", () => {
  it("default to the native agent, here and now", () => {
    expect(settle({})).toMatchObject({
      subject: { agent: "native", trust: "registered", scopes: ["*"], roles: [] },
      cwd: resolve("."),
      roots: [resolve(".")],
      tools: "native",
      at: now.getTime(),
    });
  });

  it("come from the event, and flags override it", () => {
    const event = { event_type: "pre_action", agent_id: "other", session_id: "s", payload: {} };
    expect(settle({}, event).subject).toMatchObject({ agent: "other", session: "s", trust: "unknown" });
    expect(settle({ agent: "native", session: "t", trust: "standing", tools: "codex" }, event)).toMatchObject(
      {
        subject: { agent: "native", session: "t", trust: "standing" },
        tools: "codex",
      },
    );
  });

  it("take folders from the flags", () => {
    expect(settle({ cwd: "/a/b", workspace: ["/a", "/c"], at: "2026-01-01T00:00:00Z" })).toMatchObject({
      cwd: "/a/b",
      roots: ["/a", "/c"],
      at: Date.parse("2026-01-01T00:00:00Z"),
    });
  });

  it.each<[Partial<ExplainFlags>, string]>([
    [{ trust: "friend" }, "--trust"],
    [{ enforcement: "hoped" }, "--enforcement"],
    [{ started: "magic" }, "--started"],
    [{ at: "soon" }, "--at"],
  ])("%j is a mistake", (more, flag) => {
    expect(() => settle(more)).toThrow(flag);
  });
});
