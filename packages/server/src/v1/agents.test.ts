import { expect, test } from "vitest";
import { Errands } from "./agents.ts";

test("who comes while something is under way follows it, from where it is", async () => {
  const errands = new Errands<number>();
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const begin = async (tell: (news: number) => void) => {
    begun += 1;
    tell(1);
    await gate.promise;
    tell(2);
  };
  const [first, second]: [number[], number[]] = [[], []];
  const one = errands.follow("a", begin, (news) => first.push(news));
  const two = errands.follow("a", begin, (news) => second.push(news));
  expect(errands.has("a")).toBe(true);
  gate.resolve();
  await Promise.all([one, two]);
  expect([begun, first, second, errands.has("a")]).toEqual([1, [1, 2], [1, 2], false]);
});
