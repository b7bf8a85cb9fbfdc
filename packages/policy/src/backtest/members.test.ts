import { expect, it } from "vitest";
import { withMembers } from "./members.ts";

it("sets members by dotted path and leaves what was given as it is", () => {
  const given = { a: { b: 1, c: 2 }, d: [1] };
  expect(withMembers(given, { "a.b": 9, "x.y": "z", d: 3 })).toEqual({
    a: { b: 9, c: 2 },
    d: 3,
    x: { y: "z" },
  });
  expect(given).toEqual({ a: { b: 1, c: 2 }, d: [1] });
  expect(withMembers(undefined, { a: 1 })).toEqual({ a: 1 });
});
