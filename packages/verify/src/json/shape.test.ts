import { expect, it } from "vitest";
import { COUNT, fits, mismatches, type Shape, TEXT } from "./shape.ts";

const SHAPE: Shape<{ name: string; age: number }> = { name: TEXT, age: COUNT };

it("fits with exactly its members", () => {
  expect(fits({ age: 3, name: "x" }, SHAPE)).toBe(true);
  expect(mismatches({ age: 3, name: "x" }, SHAPE)).toEqual([]);
});

it.each([
  [null, ["is no object"]],
  [[], ["is no object"]],
  [{ name: "x" }, ["lacks the member age"]],
  [{ name: 1, age: -1 }, ["has a wrong name", "has a wrong age"]],
  [{ name: "x", age: 1.5 }, ["has a wrong age"]],
  [{ name: "x", age: 1, more: 2 }, ['has a member that does not belong: "more"']],
  [JSON.parse('{"name":"x","age":1,"__proto__":2}'), ['has a member that does not belong: "__proto__"']],
  [
    JSON.parse('{"age":1,"toString":"x"}'),
    ["lacks the member name", 'has a member that does not belong: "toString"'],
  ],
])("reports what keeps %j from fitting", (value, messages) => {
  expect(fits(value, SHAPE)).toBe(false);
  expect(mismatches(value, SHAPE).map(({ message }) => message)).toEqual(messages);
});
