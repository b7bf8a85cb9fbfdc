import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { isAgreed } from "./policy.ts";

const said = (text: string, isTTY: boolean) => {
  const input = Object.assign(new PassThrough(), { isTTY });
  input.end(text);
  return isAgreed(input, new PassThrough());
};

it("asks for confirmation on a terminal, also when stdout is redirected", async () => {
  expect(await said("y\n", true)).toBe(true);
  expect(await said("YES\n", true)).toBe(true);
  expect(await said("\n", true)).toBe(false);
  expect(await said("no\n", true)).toBe(false);
});

it("needs no confirmation without a terminal", async () => {
  expect(await said("", false)).toBe(true);
});
