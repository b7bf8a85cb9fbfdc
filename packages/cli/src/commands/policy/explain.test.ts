import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { readInputs } from "../../../test/read-inputs.ts";
import { asEvent, EXPLAIN_FLAGS, explainSettings } from "./explain.ts";

const roster = {
  trustOf: (agent: string) => (agent === "native" ? ("registered" as const) : ("unknown" as const)),
};
const now = new Date("2026-11-15T08:00:00Z");
const settle = async (args: string[], event: object = {}) =>
  explainSettings(await readInputs(EXPLAIN_FLAGS, ...args), asEvent(event), roster, now);

describe("the settings of reins policy explain", () => {
  it("default to the native agent, here and now", async () => {
    expect(await settle([])).toMatchObject({
      subject: { agent: "native", trust: "registered", scopes: ["*"], roles: [] },
      cwd: resolve("."),
      roots: [resolve(".")],
      tools: "native",
      at: now.getTime(),
    });
  });

  it("come from the event, and flags override it", async () => {
    const event = { event_type: "pre_action", agent_id: "other", session_id: "s", payload: {} };
    expect((await settle([], event)).subject).toMatchObject({
      agent: "other",
      session: "s",
      trust: "unknown",
    });
    const args = ["--agent", "native", "--session", "t", "--trust", "standing", "--tools", "codex"];
    expect(await settle(args, event)).toMatchObject({
      subject: { agent: "native", session: "t", trust: "standing" },
      tools: "codex",
    });
  });

  it("take folders from the flags", async () => {
    const args = ["--cwd", "/a/b", "--workspace", "/a", "--workspace", "/c", "--at", "2026-01-01T00:00:00Z"];
    expect(await settle(args)).toMatchObject({
      cwd: "/a/b",
      roots: ["/a", "/c"],
      at: Date.parse("2026-01-01T00:00:00Z"),
    });
  });

  it.each([
    ["--trust", "friend"],
    ["--enforcement", "hoped"],
    ["--started", "magic"],
    ["--at", "soon"],
  ])("reject %s %s", async (flag, text) => {
    await expect(settle([flag, text])).rejects.toThrow(flag);
  });
});
