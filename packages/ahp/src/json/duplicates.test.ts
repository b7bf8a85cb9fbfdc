import { expect, test } from "vitest";
import { duplicatesAtTop } from "./duplicates.ts";

test.each([
  ['{"id":"a","id":"b"}', ["id"]],
  ['{"a":1,"b":2,"a":3,"b":4,"c":5}', ["a", "b"]],
  ['{ "id" : 1 , "id"\n: 2 }', ["id"]],
  ['{"id":1,"\\u0069d":2}', ["id"]],
  ['{"a\\"b":1,"a\\"b":2}', ['a"b']],
  ['{"\\\\":1,"\\\\":2}', ["\\"]],
  ['{"__proto__":1,"__proto__":2}', ["__proto__"]],
  ['{"a":1,"a":2,"a":3}', ["a"]],
])("%s repeats %j", (text, keys) => {
  expect([...duplicatesAtTop(text)]).toEqual(keys);
});

test.each([
  ["only inside", '{"params":{"a":1,"a":2}}'],
  ["only inside an array", '{"params":[{"a":1},{"a":2,"a":3}]}'],
  ["in a value", '{"a":"a","b":"a"}'],
  ["in a text that looks like JSON", '{"a":"{\\"a\\":1}","b":"\\"a\\":"}'],
  ["in an array of strings", '{"a":["a","a"]}'],
  ["not at all", "[1,2]"],
])("a key repeated %s does not count", (_, text) => {
  expect([...duplicatesAtTop(text)]).toEqual([]);
});

test("a very long string is no obstacle", () => {
  const plain = "x".repeat(5_000_000);
  const escaped = '\\"'.repeat(2_000_000);
  expect([...duplicatesAtTop(`{"id":"${plain}","id":"${escaped}"}`)]).toEqual(["id"]);
});
