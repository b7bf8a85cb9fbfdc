import fc from "fast-check";
import { expect, test } from "vitest";
import { leftOf, RunSpending } from "./budget.ts";

test.each([
  [{}, { tokens: 5, cost: 1 }, {}],
  [{ tokens: 10 }, { tokens: 4, cost: 1 }, { tokens: 6 }],
  [
    { tokens: 10, cost: 3 },
    { tokens: 40, cost: 1 },
    { tokens: 0, cost: 2 },
  ],
])("of %j after %j, %j is left", (budget, used, left) => {
  expect(leftOf(budget, used)).toEqual(left);
});

const { signal } = new AbortController();

test.each(["tokens", "cost"] as const)(
  "attempts that run together share what is left of the %s, and what one does not use is given to the next",
  async (kind) => {
    const spending = new RunSpending({ [kind]: 100 }, undefined);
    const take = (action: string, takers: number, ofAction?: number) =>
      spending.take(action, {
        ...{ takers: () => takers, signal },
        ofAction: ofAction === undefined ? {} : { [kind]: ofAction },
      });
    const spend = (action: string, amount: number) =>
      spending.spend(action, { tokens: 0, cost: 0, [kind]: amount });
    expect(await take("a", 2)).toEqual({ [kind]: 50 });
    expect(await take("b", 1, 20)).toEqual({ [kind]: 20 });
    expect(await take("c", 1)).toEqual({ [kind]: 30 });
    const late = take("d", 1);
    spend("b", 5);
    expect(await late).toEqual({ [kind]: 15 });
    for (const action of ["a", "c", "d"]) spend(action, 40);
    expect(await take("e", 1)).toEqual({ [kind]: 0 });
    expect(spending.over).toMatch(/100/);
  },
);

test("an attempt that waits for its share ends with its signal, and holds nothing", async () => {
  for (const budget of [{ tokens: 1 }, { cost: 0.5 }]) {
    const spending = new RunSpending(budget, undefined);
    await spending.take("a", { takers: () => 1, ofAction: {}, signal });
    const abort = new AbortController();
    const waiting = spending.take("b", { takers: () => 1, ofAction: {}, signal: abort.signal });
    abort.abort(new Error("canceled"));
    await expect(waiting).rejects.toThrow("canceled");
    expect(spending.holds("b")).toBe(false);
  }
});

test("any number of attempts, started, failed, tried again, canceled and ended in any order, together keep to the tokens and the money of a run", async () => {
  const attempt = fc.record({
    ...{ wanted: fc.nat(400), price: fc.double({ min: 0, max: 1, noNaN: true }) },
    ...{ own: fc.option(fc.nat(300)), turns: fc.nat(6), tries: fc.integer({ min: 1, max: 3 }) },
    cancelAfter: fc.option(fc.nat(5)),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.option(fc.nat(1_000)),
      fc.option(fc.double({ min: 0, max: 50, noNaN: true })),
      fc.array(attempt, { maxLength: 60 }),
      async (mostTokens, mostCost, attempts) => {
        const tokens = mostTokens ?? Number.POSITIVE_INFINITY;
        const cost = mostCost ?? Number.POSITIVE_INFINITY;
        const spending = new RunSpending(
          { ...(mostTokens !== null && { tokens }), ...(mostCost !== null && { cost }) },
          undefined,
        );
        const used = { tokens: 0, cost: 0 };
        const open = new Set(attempts.keys());
        await Promise.all(
          attempts.map(async ({ wanted, price, own, turns, tries, cancelAfter }, index) => {
            const name = String(index);
            const takers = () => [...open].filter((one) => !spending.holds(String(one))).length;
            const abort = new AbortController();
            if (cancelAfter !== null)
              void (async () => {
                for (let turn = 0; turn < cancelAfter; turn += 1) await Promise.resolve();
                abort.abort(new Error("canceled"));
              })();
            for (let turn = 0; turn < turns % 3; turn += 1) await Promise.resolve();
            for (let number = 0; number < tries && !abort.signal.aborted; number += 1) {
              const ofAction = own === null ? {} : { tokens: own };
              const share = await spending
                .take(name, { takers, ofAction, signal: abort.signal })
                .catch(() => ({ tokens: 0, cost: 0 }));
              for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
              // What it would use costs so much; one that reaches a limit of its share is ended there.
              const spent = {
                tokens: Math.min(wanted, share.tokens ?? wanted),
                cost: Math.min(wanted * price, share.cost ?? wanted * price),
              };
              used.tokens += spent.tokens;
              used.cost += spent.cost;
              if (number + 1 === tries || abort.signal.aborted) open.delete(index);
              spending.spend(name, spent);
              expect(spending.holds(name)).toBe(false);
            }
            open.delete(index);
          }),
        );
        expect(used.tokens).toBeLessThanOrEqual(tokens);
        expect(used.cost).toBeLessThanOrEqual(cost * (1 + 1e-9));
      },
    ),
  );
});

test("the ceiling on attempts holds where a budget has a higher one or none", () => {
  for (const budget of [{}, { calls: 5 }]) {
    const spending = new RunSpending(budget, 2);
    spending.countCall();
    expect(spending.over).toBeUndefined();
    spending.countCall();
    expect(spending.over).toBe("2 calls");
  }
});
