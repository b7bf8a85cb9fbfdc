import { expect, test } from "vitest";
import { LastPlaces } from "./last-places.ts";

test("the last places are known of as many names as fit, those written to last", () => {
  const places = new LastPlaces(2);
  places.note("a", 1);
  places.note("b", 2);
  places.note("a", 3);
  places.note("c", 4);
  expect(["a", "b", "c"].map((name) => places.of(name))).toEqual([3, 0, 4]);
});
