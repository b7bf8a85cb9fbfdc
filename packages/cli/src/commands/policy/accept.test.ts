import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { isAgreed } from "./accept.ts";

const said = (text: string, isTTY: boolean) => {
  const input = Object.assign(new PassThrough(), { isTTY });
  input.end(text);
  return isAgreed(input, new PassThrough());
};

it("a person at a terminal is asked, wherever the result goes, and has to say yes", async () => {
  expect(await said("y\n", true)).toBe(true);
  expect(await said("YES\n", true)).toBe(true);
  expect(await said("\n", true)).toBe(false);
  expect(await said("no\n", true)).toBe(false);
});

it("a program has agreed by running the command", async () => {
  expect(await said("", false)).toBe(true);
});
