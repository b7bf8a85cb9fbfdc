import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CONTEXT, message, native, read } from "../test/messages.ts";

/** The guide to action graphs says nothing that is not so. */
const ROOT = new URL("../../../", import.meta.url);
const guide = readFileSync(new URL("docs/action-graphs.md", ROOT), "utf8");
const rules = [...guide.matchAll(/^\| (.+?) \| `([^`]+\.ts)` \| (.+?) \|$/gm)].map(
  ([, rule = "", file = "", test = ""]) => ({ rule, file, test }),
);
const shown = rules.filter(({ test }) => !test.startsWith("*expected* "));

describe("docs/action-graphs.md", () => {
  it("has examples that can be executed as they are", () => {
    const [, carrier = ""] = /```json carrier\n(.*?)```/s.exec(guide) ?? [];
    expect(read(native(carrier), CONTEXT)).toMatchObject({ actions: [{ id: "find" }, { id: "read" }] });
    const [, declared = ""] = /````markdown declaration\n(.*?)````/s.exec(guide) ?? [];
    expect(read(message(declared), CONTEXT)).toMatchObject({
      note: "I will find the toolbar, then review its buttons.",
      actions: [{ id: "inspect" }, { id: "review" }],
    });
  });

  it.each(shown)("names a test that exists: $rule", ({ file, test }) => {
    const url = new URL(file, file.startsWith("packages/") ? ROOT : import.meta.url);
    const titles = [JSON.stringify(test).replaceAll("\\u", "\\\\u"), `\`${test}\${`];
    const source = readFileSync(url, "utf8");
    expect(titles.some((title) => source.includes(title))).toBe(true);
  });

  it("has a row for the rules of the specification", () => {
    expect(rules.length).toBeGreaterThan(60);
    expect(new Set(rules.map(({ rule }) => rule)).size).toBe(rules.length);
  });
});
