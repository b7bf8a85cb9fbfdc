import fc from "fast-check";
import { expect, test } from "vitest";
import { RunSpending, tokensLeft } from "./budget.ts";

test.each([
  [{}, 5, undefined],
  [{ tokens: 10 }, 4, 6],
  [{ tokens: 10 }, 40, 0],
])("of %j after %i, %s tokens are left", (budget, used, left) => {
  expect(tokensLeft(budget, used)).toBe(left);
});

const { signal } = new AbortController();

test("attempts that run together share what is left, and what one does not use is given to the next", async () => {
  const spending = new RunSpending({ tokens: 100 }, undefined);
  const take = (action: string, takers: number, ofAction?: number) =>
    spending.take(action, { takers: () => takers, ofAction, signal });
  expect(await take("a", 2)).toBe(50);
  expect(await take("b", 1, 20)).toBe(20);
  expect(await take("c", 1)).toBe(30);
  const late = take("d", 1);
  spending.spend("b", { tokens: 5, cost: 0 });
  expect(await late).toBe(15);
  for (const action of ["a", "c", "d"]) spending.spend(action, { tokens: 40, cost: 0 });
  expect(await take("e", 1)).toBe(0);
  expect(spending.over).toBe("100 tokens");
});

test("an attempt that waits for tokens ends with its signal", async () => {
  const spending = new RunSpending({ tokens: 1 }, undefined);
  await spending.take("a", { takers: () => 1, ofAction: undefined, signal });
  const abort = new AbortController();
  const waiting = spending.take("b", { takers: () => 1, ofAction: undefined, signal: abort.signal });
  abort.abort(new Error("canceled"));
  await expect(waiting).rejects.toThrow("canceled");
});

test("any number of attempts, started and ended in any order, together keep to the tokens of a run", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(1_000),
      fc.array(fc.record({ wanted: fc.nat(400), own: fc.option(fc.nat(300)), turns: fc.nat(6) }), {
        maxLength: 60,
      }),
      async (tokens, attempts) => {
        const spending = new RunSpending({ tokens }, undefined);
        let used = 0;
        const open = new Set(attempts.keys());
        await Promise.all(
          attempts.map(async ({ wanted, own, turns }, index) => {
            for (let turn = 0; turn < turns % 3; turn += 1) await Promise.resolve();
            const takers = () => [...open].filter((one) => !spending.holds(String(one))).length;
            const share = await spending.take(String(index), { takers, ofAction: own ?? undefined, signal });
            for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
            const spent = Math.min(wanted, share ?? wanted);
            expect(spent).toBeLessThanOrEqual(own ?? spent);
            used += spent;
            open.delete(index);
            spending.spend(String(index), { tokens: spent, cost: 0 });
          }),
        );
        expect(used).toBeLessThanOrEqual(tokens);
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
