import { expect, test } from "vitest";
import { markdownBlocks } from "./markdown-blocks.ts";

test("splits paragraphs into blocks", () => {
  expect(markdownBlocks("one\nstill one\n\ntwo\n\n\n# three\n")).toEqual([
    "one\nstill one",
    "two",
    "# three",
  ]);
});

test("keeps fenced code in one block, even before the fence is closed", () => {
  expect(markdownBlocks("say:\n\n```js\na\n\nb\n```\n\nafter")).toEqual([
    "say:",
    "```js\na\n\nb\n```",
    "after",
  ]);
  expect(markdownBlocks("```\na\n\nb")).toEqual(["```\na\n\nb"]);
});

test("keeps a list with empty lines between its items in one block", () => {
  expect(markdownBlocks("- a\n\n- b\n  more\n\nend")).toEqual(["- a\n\n- b\n  more\n", "end"]);
});

test("changes only the last block while a text grows", () => {
  const text = "one\n\ntwo\n\nthree";
  for (let length = 1; length <= text.length; length += 1) {
    const blocks = markdownBlocks(text.slice(0, length));
    const later = markdownBlocks(text);
    expect(later.slice(0, blocks.length - 1)).toEqual(blocks.slice(0, -1));
  }
});

test("cuts a very long paragraph without losing text", () => {
  const words = Array.from({ length: 5_000 }, (_, index) => String(index)).join(" ");
  const blocks = markdownBlocks(words);
  expect(blocks.length).toBeGreaterThan(2);
  expect(blocks.join(" ").split(/\s+/)).toEqual(words.split(" "));
});
