import { expect, test } from "vitest";
import { contentAfter } from "./file-access.ts";

const FILE = "one\ntwo\ntwo\n$& three\n";
const edit = (old_string: unknown, new_string: unknown, more = {}) => ({ old_string, new_string, ...more });

test.each([
  ["the whole text", { file_path: "/w/a", content: "new" }, "new"],
  ["an empty text", { file_path: "/w/a", content: "" }, ""],
  ["an edit", edit("one", "$& 1"), "$& 1\ntwo\ntwo\n$& three\n"],
  ["an edit of another spelling", { oldText: "one", newText: "1" }, "1\ntwo\ntwo\n$& three\n"],
  ["an edit of each place", edit("two", "2", { replace_all: true }), "one\n2\n2\n$& three\n"],
  ["edits after one another", { edits: [edit("one", "1"), edit("1\ntwo", "x")] }, "x\ntwo\n$& three\n"],
])("the text that a file gets follows from %s", async (_, given, content) => {
  expect(await contentAfter(given, async () => FILE)).toBe(content);
});

test.each([
  ["no arguments", undefined],
  ["only a path", { file_path: "/w/a" }],
  ["a text that is none", { content: ["new"] }],
  ["two texts", { content: "a", file_text: "b" }],
  ["a text and an edit", { content: "a", ...edit("one", "1") }],
  ["an edit in two spellings", { ...edit("one", "1"), oldText: "two", newText: "2" }],
  ["an edit and a list of them", { ...edit("one", "1"), edits: [edit("one", "1")] }],
  ["no edits", { edits: [] }],
  ["edits that are no list", { edits: edit("one", "1") }],
  ["an edit of what is not there", edit("four", "4")],
  ["an edit of one of two places", edit("two", "2")],
  ["an edit that puts a beginning into a file that has one", edit("", "new")],
  ["an edit without what it puts there", { old_string: "one" }],
])("no text follows from %s", async (_, given) => {
  expect(await contentAfter(given, async () => FILE)).toBeUndefined();
});

test("an edit begins a file that is not there, and none follows for one that cannot be read", async () => {
  expect(await contentAfter(edit("", "new"), async () => "")).toBe("new");
  expect(await contentAfter(edit("", "new"), async () => undefined)).toBeUndefined();
});
