import { expect, test } from "vitest";
import { KeptOutput } from "./agent-process.ts";

const kept = (bound: number, ...chunks: string[]) => {
  const output = new KeptOutput(bound);
  for (const chunk of chunks) output.push(Buffer.from(chunk));
  return output.read();
};

test("keeps a short output whole", () => {
  expect(kept(4)).toEqual({ head: "", tail: "", omitted: 0 });
  expect(kept(4, "abc")).toEqual({ head: "abc", tail: "", omitted: 0 });
  expect(kept(4, "abc", "defgh")).toEqual({ head: "abcd", tail: "efgh", omitted: 0 });
});

test("keeps start and end of a long output and counts the rest", () => {
  expect(kept(4, "abcdefghijkl")).toEqual({ head: "abcd", tail: "ijkl", omitted: 4 });
  expect(kept(4, ..."abcdefghijklmnopqrstuvwxyz")).toEqual({ head: "abcd", tail: "wxyz", omitted: 18 });
});

test("can be read at any time", () => {
  const output = new KeptOutput(2);
  output.push(Buffer.from("abcde"));
  expect(output.read()).toEqual({ head: "ab", tail: "de", omitted: 1 });
  output.push(Buffer.from("fg"));
  expect(output.read()).toEqual({ head: "ab", tail: "fg", omitted: 3 });
});

test("counts a megabyte in small chunks exactly", () => {
  const output = new KeptOutput(1_000);
  const crumb = Buffer.from("x");
  for (let index = 0; index < 1_000_000; index += 1) output.push(crumb);
  const { head, tail, omitted } = output.read();
  expect([head.length, tail.length, omitted]).toEqual([1_000, 1_000, 998_000]);
});
