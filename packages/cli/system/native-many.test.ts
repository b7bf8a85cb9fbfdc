import { expect, onTestFinished, test } from "vitest";
import { Crowd } from "../bench/native/crowd.ts";
import { governedHouse } from "../bench/native/house.ts";

test("two hundred governed sessions at once complete every turn, each with its words in order", async () => {
  const house = await governedHouse();
  onTestFinished(() => house.close());
  // A turn that ends otherwise, or with its words in another order, throws.
  const { times } = await new Crowd(house).turns(200, 1);
  expect(times).toHaveLength(200);
});
