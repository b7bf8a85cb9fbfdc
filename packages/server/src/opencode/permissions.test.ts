import type { Approval, Principal } from "@reins/supervisor";
import { expect, test } from "vitest";
import { shownPermission } from "./permissions.ts";

const PERSON = {
  id: "local",
  tenant: "default",
  user: "operator",
  kind: "user",
  roles: [],
} as never as Principal;

function shown(tool: string, given: unknown, effects: readonly object[] = []) {
  const approval = {
    ...{ id: "a1", tenant: "default", user: "operator", agent: "claude", chain: [], session: "s", tool },
    ...{ facts: { tool, arguments: given, effects, opaque: true, doubts: [], claims: {} } },
    ...{ state: "denied", options: ["allow_once", "deny"], reason: "hm", answers: [] },
  };
  return shownPermission(PERSON, approval as never as Approval);
}

test("a permission for a command shows its line", () => {
  const bash = shown("Bash", { command: "git push", description: "Push" });
  expect(bash).toMatchObject({
    permission: "bash",
    patterns: ["git push"],
    metadata: { command: "git push" },
  });
  const exec = { kind: "exec", command: "rm", arguments: ["-rf", null], opaque: true };
  expect(shown("shell", { command: ["rm", "-rf", "$X"] }, [exec])).toMatchObject({ patterns: ["rm -rf …"] });
});

test("a permission for another tool is not shown as the command that its arguments name", () => {
  const write = { kind: "write", path: "/home/a/.bashrc", place: "persistence", destroys: true };
  expect(shown("Write", { file_path: "/home/a/.bashrc", command: "ls" }, [write])).toMatchObject({
    ...{ permission: "edit", patterns: ["/home/a/.bashrc"] },
  });
  expect(shown("mcp__prod__drop", { table: "users", command: "ls" })).toMatchObject({
    ...{ permission: "mcp__prod__drop", patterns: ["mcp__prod__drop"] },
  });
});

test("a permission spells out hidden characters", () => {
  expect(shown("Bash", { command: "run \u202ea" })?.patterns).toEqual(["run \\u202ea"]);
});
