import { setTimeout as wait } from "node:timers/promises";
import { type JsonObject, membersOf } from "@reins/acp";
import { parseExact } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import { bash, govern } from "./fixtures/governed.ts";
import { openTestHome } from "./fixtures/home.ts";
import { type Play, ScriptedAgent, type Stage } from "./fixtures/scripted-agent.ts";

const RULES = `
tool_rules: [{ name: all, condition: {}, verdict: allowed }]
limits:
  - { name: money, per: user, within: 1h, cost: 5 }
  - { name: tokens, per: user, within: 1h, tokens: 1000 }
`;

/** A governed agent under budgets of money and tokens. */
async function budgeted(agent = new ScriptedAgent(), options: Parameters<typeof govern>[0] = {}) {
  const home = await openTestHome({ rules: RULES });
  const governed = await govern({ home, agent, ...options });
  const id = await governed.begin();
  const { identity, supervisor } = home.harness;
  const subject = identity.subjectFor({
    principal: identity.local(),
    ...{ agent: "claude", hosted: true, session: id, enforcement: "asked" },
  });
  const used = async () => {
    const [money] = await supervisor.budget(subject);
    return { cost: money?.used.cost, tokens: money?.used.tokens };
  };
  const play = async (turn: Play) => membersOf(await governed.prompt(id, turn)).stopReason;
  return { ...governed, id, subject, used, play };
}

const costs = (amount: unknown, used = 1): JsonObject => ({
  ...{ sessionUpdate: "usage_update", used, size: 1_000_000 },
  cost: { amount, currency: "USD" },
});

describe("a budget counts", () => {
  test("the cost that an agent reports after its response", async () => {
    const { play, used } = await budgeted();
    const stages: Stage[] = [];
    await play(async (stage) => void stages.push(stage));
    await stages[0]?.update(costs(100));
    await expect.poll(used).toEqual({ cost: 100, tokens: 0 });
    expect(await play(async () => undefined)).toBe("refusal");
  });

  test("no tokens below zero", async () => {
    const { play, used } = await budgeted();
    await play(async () => ({ stopReason: "end_turn", usage: { totalTokens: -1_000_000 } }));
    await play(async () => ({ stopReason: "end_turn", usage: { totalTokens: 900 } }));
    expect(await used()).toEqual({ cost: 0, tokens: 900 });
  });

  test("each rise of a cost that also falls, in a turn and after it", async () => {
    const { play, used } = await budgeted();
    await play(async ({ update }) => {
      for (const amount of [1, 0, -1e9, 2]) await update(costs(amount));
      return undefined;
    });
    expect(await used()).toEqual({ cost: 3, tokens: 0 });
  });

  test.each([
    ["1000.00000000000000001", 1_000],
    ["12345678901234567890123", Number.MAX_SAFE_INTEGER],
    ["1e999", Number.MAX_SAFE_INTEGER],
  ])("a number that is spelled %s", async (spelled, counted) => {
    const { play, used } = await budgeted();
    await play(async ({ update }) => {
      await update(costs(parseExact(spelled)));
      return undefined;
    });
    expect(await used()).toMatchObject({ cost: counted });
  });

  test("the tokens of a turn that ends with an error", async () => {
    const { play, used } = await budgeted();
    const failing = play(async ({ update }) => {
      await update(costs(1, 900_000));
      throw new Error("sorry");
    });
    await expect(failing).rejects.toThrow("sorry");
    expect(await used()).toEqual({ cost: 1, tokens: 900_000 });
  });

  test("the tokens of a turn that ends long after it was cancelled", async () => {
    const { play, used, id, governor } = await budgeted(new ScriptedAgent(), { cancelGraceMs: 50 });
    const late = Promise.withResolvers<void>();
    const playing = play(async ({ update, cancelled }) => {
      await update(costs(1, 300));
      await cancelled;
      await late.promise;
      return { stopReason: "cancelled", usage: { totalTokens: 900 } };
    });
    await expect.poll(() => governor.session(id)?.turn?.tokens).toBe(300);
    await governor.notification("session/cancel", { sessionId: id });
    expect(await playing).toBe("cancelled");
    expect(await used()).toEqual({ cost: 1, tokens: 300 });
    late.resolve();
    await expect.poll(used).toEqual({ cost: 1, tokens: 900 });
  });

  test("the cost of a turn with more calls without an end than are kept", async () => {
    const { play, used } = await budgeted();
    await play(async ({ ask, update }) => {
      for (let round = 0; round < 11; round += 1)
        await Promise.all(Array.from({ length: 100 }, (_, index) => ask(bash("ls", `${round}-${index}`))));
      await update(costs(1_000));
      return undefined;
    });
    expect(await used()).toMatchObject({ cost: 1_000 });
  }, 60_000);

  test("the cost of a turn whose prompt was settled as something else", async () => {
    const { play, used, harness, subject, entries } = await budgeted();
    await play(async ({ update }) => {
      for (const { cid } of await entries("policy_verdict"))
        await harness.supervisor.settle(subject, { event_type: "pre_action", entry: cid });
      await update(costs(1_000));
      return undefined;
    });
    expect(await used()).toMatchObject({ cost: 1_000 });
  });

  test("what is reported while a session is closed, which resumes only when its end is recorded", async () => {
    const held = Promise.withResolvers<void>();
    const agent = new ScriptedAgent({
      "session/close": (async () => {
        await held.promise;
        return {};
      }) as never,
    });
    const { play, used, call, id, workspace, ledger } = await budgeted(agent);
    const stages: Stage[] = [];
    await play(async (stage) => void stages.push(stage));
    const closing = call("session/close", { sessionId: id });
    await wait(50);
    await stages[0]?.update(costs(2));
    await expect.poll(used).toMatchObject({ cost: 2 });
    await expect(play(async () => undefined)).rejects.toThrow("the session is being closed");
    const loading = call("session/load", { sessionId: id, cwd: workspace, mcpServers: [] });
    await wait(50);
    held.resolve();
    await Promise.all([closing, loading]);
    await play(async ({ update }) => {
      await update(costs(1));
      return undefined;
    });
    expect(await used()).toMatchObject({ cost: 3 });
    const kinds = (await ledger.read({ limit: 100 })).map(({ entry }) => entry.tags[0]);
    const lifecycle = kinds.filter((kind) => String(kind).startsWith("session"));
    expect(lifecycle).toEqual(["session_start", "session_end", "session/load"]);
  });
});
