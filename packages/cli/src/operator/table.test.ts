import { expect, it } from "vitest";
import { nameList, names } from "./names.ts";
import { table } from "./table.ts";

it("a table has its columns under each other, and stays within a width", () => {
  const rows = [
    ["agent", "trust", "mandate"],
    ["a-long-name", "-", "mandates/a.md"],
  ];
  expect(table(rows)).toBe("agent        trust  mandate\na-long-name  -      mandates/a.md\n");
  expect(table(rows, 24)).toBe("agent        trust  man…\na-long-name  -      man…\n");
  expect(table([])).toBe("");
});

it("names come from one flag or several, with commas between, and may be none", () => {
  expect(names("a, b", undefined)).toEqual(["a", "b"]);
  expect(names("c", ["a", "b"])).toEqual(["a", "b", "c"]);
  expect(names("", undefined)).toEqual([]);
  expect([nameList([], "none"), nameList(["*"], "none"), nameList(["a", "b"], "none")]).toEqual([
    "none",
    "all",
    "a, b",
  ]);
});
