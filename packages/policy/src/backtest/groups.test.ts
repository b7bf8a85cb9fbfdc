import { expect, it } from "vitest";
import type { Effect } from "../action.ts";
import { gistOf } from "./backtest.ts";

const read = (inside: string): Effect => ({ kind: "read", path: `/w/${inside}`, place: "workspace", inside });
const write = (path: string, destroys = false): Effect => ({ kind: "write", path, place: "home", destroys });
const run = (...words: (string | null)[]): Effect => ({
  kind: "exec",
  command: words[0] ?? "",
  arguments: words.slice(1),
  opaque: false,
});

it.each<[Effect[], string]>([
  [[], "Tool"],
  [[read("a"), read("b")], "reads a; reads b"],
  [[run("git", "push", null), read("a")], "git push …"],
  [[write("/h/x"), write("/h/y", true)], "writes /h/x; destroys /h/y"],
  [
    [{ kind: "write", path: "/w", place: "workspace", inside: "", deep: true, destroys: true }],
    "destroys /w and below",
  ],
  [[{ kind: "net", host: "*" }], "speaks to some host"],
  [["a", "b", "c", "d", "e"].map(read), "reads a; reads b; reads c; 2 more"],
  [[run("echo", "x".repeat(100))], `echo ${"x".repeat(42)}…`],
])("%j is %s", (effects, text) => {
  expect(gistOf({ tool: "Tool", effects })).toBe(text);
});
