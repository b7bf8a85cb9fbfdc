import { expect, test } from "vitest";
import { modelToolName, qualifiedNames } from "./host-tools/host-tools.ts";

test("names that one source has are offered as they are", () => {
  const tools = [{ name: "read_file" }, { source: "host", name: "deploy" }, { source: "git", name: "log" }];
  expect(qualifiedNames(tools)).toEqual(["read_file", "deploy", "log"]);
});

test("names that several sources have are qualified for each, whatever their letter case", () => {
  const tools = [
    { source: "host", name: "Deploy" },
    { source: "ops", name: "deploy" },
    { source: "ops", name: "rollback" },
  ];
  expect(qualifiedNames(tools)).toEqual(["host/Deploy", "ops/deploy", "rollback"]);
});

test("a tool of a host never takes the name of the agent's own", () => {
  expect(qualifiedNames([{ name: "read_file" }, { source: "host", name: "read_file" }])).toEqual([
    "read_file",
    "host/read_file",
  ]);
});

test("names that every object has are names like any other", () => {
  expect(qualifiedNames([{ source: "host", name: "constructor" }, { name: "__proto__" }])).toEqual([
    "constructor",
    "__proto__",
  ]);
});

test("models get a name that they accept", () => {
  expect(modelToolName("host/deploy")).toBe("host__deploy");
  expect(modelToolName(`a b.c${"x".repeat(100)}`)).toMatch(/^a_b_cx{59}$/);
});
