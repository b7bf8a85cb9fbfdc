import type { DecisionInput } from "@reins/supervisor";
import { expect, test } from "vitest";
import {
  beyondScope,
  type MutationScope,
  mutationScopeIn,
  stricterScope,
  unseenChange,
} from "./mutation-scope.ts";

type Effect = DecisionInput["action"]["effects"][number];

const write = (path: string, place: "workspace" | "temporary" | "home" | "unknown"): Effect => ({
  ...{ kind: "write", path, place, destroys: false },
});
const READ: Effect = { kind: "read", path: "/w/a", place: "workspace" };
const LS: Effect = { kind: "exec", command: "ls", arguments: [], opaque: false };
const MAKE: Effect = { kind: "exec", command: "make", arguments: [], opaque: true };
const NET: Effect = { kind: "net", host: "example.org" };
const STATE: Effect = { kind: "net", host: "service:docker", looks: true };

/** Whether a scope leaves an action with some effects alone. */
const passes = (scope: MutationScope, effects: readonly Effect[], opaque = false) =>
  beyondScope(scope, { tool: "t", effects, opaque, doubts: [], claims: {}, arguments: {} }, "/w/tree") ===
  undefined;

test.each<[string, readonly Effect[], Record<MutationScope, boolean>]>([
  ["nothing", [], { none: true, read_only: true, apply_worktree: true, apply_workspace: true }],
  ["a read", [READ], { none: false, read_only: true, apply_worktree: true, apply_workspace: true }],
  [
    "a known program",
    [LS, READ],
    { none: false, read_only: true, apply_worktree: true, apply_workspace: true },
  ],
  ["a request", [NET], { none: false, read_only: false, apply_worktree: true, apply_workspace: true }],
  [
    "a request after a look",
    [STATE, NET],
    { none: false, read_only: false, apply_worktree: true, apply_workspace: true },
  ],
  ["a look", [STATE], { none: false, read_only: true, apply_worktree: true, apply_workspace: true }],
  [
    "an opaque program",
    [MAKE],
    { none: false, read_only: false, apply_worktree: true, apply_workspace: true },
  ],
  [
    "a write in the worktree",
    [write("/w/tree/a", "workspace")],
    { none: false, read_only: false, apply_worktree: true, apply_workspace: true },
  ],
  [
    "a write beside the worktree",
    [write("/w/treeless/a", "workspace")],
    { none: false, read_only: false, apply_worktree: false, apply_workspace: true },
  ],
  [
    "a write in another root",
    [READ, write("/other/a", "workspace")],
    { none: false, read_only: false, apply_worktree: false, apply_workspace: true },
  ],
  [
    "a write to a temporary file",
    [write("/tmp/x", "temporary")],
    { none: false, read_only: false, apply_worktree: false, apply_workspace: true },
  ],
  [
    "a write at home",
    [write("/home/ada/.x", "home")],
    { none: false, read_only: false, apply_worktree: false, apply_workspace: false },
  ],
  [
    "a write whose path could not be resolved",
    [write("/w/tree/a", "unknown")],
    { none: false, read_only: false, apply_worktree: false, apply_workspace: false },
  ],
])("%s", (_, effects, expected) => {
  for (const [scope, does] of Object.entries(expected))
    expect([scope, passes(scope as MutationScope, effects)]).toEqual([scope, does]);
});

test("an opaque tool changes nothing in a read-only session", () => {
  expect(passes("read_only", [], true)).toBe(false);
});

test.each<[string, MutationScope, readonly Effect[], boolean, readonly string[] | undefined, boolean]>([
  ["an opaque program", "apply_worktree", [MAKE], false, undefined, true],
  ["an opaque program", "apply_workspace", [MAKE], false, undefined, true],
  ["an opaque tool", "apply_worktree", [], true, undefined, true],
  ["a known program", "apply_worktree", [LS, READ], false, undefined, false],
  ["a confined program", "apply_worktree", [MAKE], false, ["/w/tree"], false],
  ["a program confined to several folders", "apply_workspace", [MAKE], false, ["/w/tree", "/o"], false],
  ["a program confined to several folders", "apply_worktree", [MAKE], false, ["/w/tree", "/o"], true],
])("people are asked about what changes more than is seen: %s in %s", (...row) => {
  const [, scope, effects, opaque, confinedTo, isAsked] = row;
  expect(unseenChange(scope, { effects, opaque }, confinedTo) !== undefined).toBe(isAsked);
});

test("an unknown scope is read-only, none named restricts nothing", () => {
  expect(mutationScopeIn("everything")).toBe("read_only");
  expect(mutationScopeIn("__proto__")).toBe("read_only");
  for (const odd of [7, true, "", ["apply_workspace"], { scope: "none" }])
    expect(mutationScopeIn(odd)).toBe("read_only");
  expect(mutationScopeIn(undefined)).toBe(undefined);
  expect(mutationScopeIn(null)).toBe(undefined);
});

test("of two scopes the stricter one counts", () => {
  expect(stricterScope("apply_workspace", "read_only")).toBe("read_only");
  expect(stricterScope("none", "apply_worktree")).toBe("none");
  expect(stricterScope(undefined, "apply_worktree")).toBe("apply_worktree");
});
