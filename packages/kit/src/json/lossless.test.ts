import { expect, test } from "vitest";
import { parseLossless } from "./lossless.ts";

test.each([
  '{"account":9007199254740993}',
  "[18446744073709551615,-9007199254740993,1e400,0.1000000000000000055,-0]",
  '{"a":[{"b":123456789012345678901234567890}]}',
])("keeps the digits of %s", (text) => {
  expect(JSON.stringify(parseLossless(text))).toBe(text);
});

test.each(['{"a":1.5,"b":[0.25,1e3,100]}', '{"a":1.0}', '"9007199254740993"', "[]"])(
  "%s is plain data",
  (text) => {
    expect(parseLossless(text)).toEqual(JSON.parse(text));
  },
);
