import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DayAction, dayActions, eventOf } from "../../test/corpus.ts";
import { Machine } from "../../test/machine.ts";
import { loadPolicy } from "../constitution/load.ts";
import type { Policy } from "../decision/policy.ts";
import { gatherFacts } from "./gather.ts";

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

/** Which actions a registered agent has to wait with, or may not do at all. */
async function interrupted(reach: object): Promise<readonly DayAction[]> {
  const waiting: DayAction[] = [];
  for (const one of dayActions()) {
    const event = eventOf(one, machine);
    const action = await gatherFacts(event, machine.context("claude-code"));
    const subject = {
      user: "ann",
      tenant: "default",
      roles: [],
      scopes: ["*"],
      agent: "claude-code",
      trust: "registered",
      session: "s",
      started: "interactive",
      chain: [],
      depth: 0,
      mode: "default",
      enforcement: "asked",
      ...reach,
    } as const;
    const { verdict } = policy.decide({ event_type: event.event_type, action, subject, counters: {}, at: 0 });
    if (verdict !== "allowed") waiting.push(one);
  }
  return waiting;
}

function shareOf(waiting: readonly DayAction[]): number {
  return waiting.length / dayActions().length;
}

describe("a developer's day", () => {
  it("has 150 actions of every kind", () => {
    const all = dayActions();
    expect(all).toHaveLength(150);
    expect(new Set(all.map(({ id }) => id)).size).toBe(150);
    expect(
      Object.fromEntries(
        [...Map.groupBy(all, ({ group }) => group)].map(([group, of]) => [group, of.length]),
      ),
    ).toEqual({
      read: 19,
      look: 19,
      edit: 23,
      "git-read": 11,
      "git-write": 9,
      test: 31,
      packages: 5,
      network: 7,
      service: 18,
      more: 8,
    });
  });

  it("is interrupted by at most 35 % of its actions when the agent is not confined", async () => {
    const waiting = await interrupted({});
    expect(shareOf(waiting), waiting.map(({ id }) => id).join(" ")).toBeLessThanOrEqual(0.35);
  });

  it("is interrupted by at most 12 % of its actions when the agent is confined, with the network off or limited to hosts", async () => {
    for (const network of ["off", "hosts"]) {
      const waiting = await interrupted({ enforcement: "confined", network });
      expect(shareOf(waiting), waiting.map(({ id }) => id).join(" ")).toBeLessThanOrEqual(0.12);
    }
  });
});
