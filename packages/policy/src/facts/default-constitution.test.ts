import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadPolicy } from "../constitution/load.ts";
import type { Policy } from "../decision/policy.ts";
import type { Enforcement } from "../subject.ts";
import { gatherFacts } from "./gather.ts";
import { attacks, eventOf, ordinaryActions } from "./testing/corpus.ts";
import { Machine } from "./testing/machine.ts";

let machine: Machine;
let policy: Policy;

beforeAll(async () => {
  machine = await Machine.lay();
  const text = (name: string) => readFileSync(new URL(`../../constitutions/${name}`, import.meta.url));
  policy = loadPolicy({
    file: "default.yaml",
    rules: text("default.yaml").toString(),
    prose: text("default.md"),
  });
});
afterAll(() => machine[Symbol.asyncDispose]());

/** What the default constitution says to a registered agent. */
async function verdictOf(one: Parameters<typeof eventOf>[0], enforcement: Enforcement): Promise<string> {
  const agent = one.agent ?? "claude-code";
  const event = eventOf(one, machine);
  const action = await gatherFacts(event, machine.context(agent));
  const subject = {
    user: "ann",
    tenant: "default",
    roles: [],
    scopes: ["*"],
    agent,
    trust: "registered",
    session: "s",
    started: "interactive",
    chain: [],
    depth: 0,
    mode: "default",
    enforcement,
  } as const;
  return policy.decide({ event_type: event.event_type, action, subject, counters: {}, at: 0 }).verdict;
}

describe("the default constitution", () => {
  it("allows no attack by what it says of itself or by what it hides", async () => {
    const passed: string[] = [];
    for (const one of attacks()) {
      if ((await verdictOf(one, "asked")) === "allowed") passed.push(one.id);
    }
    expect(passed).toEqual([]);
  });

  it("asks about at most 2 % of ordinary actions without need when the agent is confined", async () => {
    const needless = ordinaryActions().filter(({ expect: kind }) => kind === "harmless" || kind === "opaque");
    const asked: string[] = [];
    for (const one of needless) {
      if ((await verdictOf(one, "confined")) !== "allowed") asked.push(one.id);
    }
    expect(asked.length / ordinaryActions().length).toBeLessThanOrEqual(0.02);
  });

  it("lets every harmless action of an agent that is not confined pass, and asks about the rest", async () => {
    for (const one of ordinaryActions()) {
      const verdict = await verdictOf(one, "asked");
      expect([one.id, verdict]).toEqual([
        one.id,
        one.expect === "harmless" ? "allowed" : expect.stringMatching(/ask|blocked/),
      ]);
    }
  });
});
