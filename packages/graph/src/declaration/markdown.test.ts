import { expect, test } from "vitest";
import { readMarkdown } from "./markdown.ts";

const sectionsOf = (text: string) => readMarkdown(text).sections.map(({ id, text: body }) => [id, body]);

test.each([
  ["##   spaced.out   ##", "spaced.out"],
  ["## **bold.prompt**", "bold.prompt"],
  ["### `code.prompt`", "code.prompt"],
  ["# [linked.prompt](https://example.com)", "linked.prompt"],
  ["## review_toolbar.prompt", "review_toolbar.prompt"],
  ["## ~~old.prompt~~", "old.prompt"],
  ["## Cafe\u0301", "Café"],
  ["## Prompt", "Prompt"],
])("the heading %j is referenced by its text, trimmed, without markup and in NFC: %s", (heading, id) => {
  expect(sectionsOf(`${heading}\n\nText.`)).toEqual([[id, "Text."]]);
});

test("a section ends at the next heading of its level or above, and holds those below", () => {
  const text = "# one\n\na\n\n### deep\n\nb\n\n## two\n\nc\n\n# three\n\nd";
  expect(sectionsOf(text)).toEqual([
    ["one", "a\n\n### deep\n\nb\n\n## two\n\nc"],
    ["deep", "b"],
    ["two", "c"],
    ["three", "d"],
  ]);
});

test("what looks like a heading in a fence, a quote or a list is none", () => {
  expect(sectionsOf("## a\n\n- item\n  ## b\n\n1. item\n\n   ## c")).toEqual([
    ["a", "- item\n  ## b\n\n1. item\n\n   ## c"],
  ]);
  expect(sectionsOf("## a\n\n```\n## b\n```\n\n> ## c\n\n- ## d")).toEqual([
    ["a", "```\n## b\n```\n\n> ## c\n\n- ## d"],
  ]);
});
