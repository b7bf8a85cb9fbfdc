import type { Approval } from "@reins/api";
import { expect, test } from "vitest";
import { upsertPending } from "./approvals.ts";

const approval = (id: string, state: Approval["state"] = "pending", quorum = 1): Approval => ({
  id,
  tenant: "default",
  user: "ann",
  agent: "native",
  chain: [],
  session: "s",
  event_type: "pre_action",
  tool: "run_command",
  facts: { tool: "run_command", effects: [], opaque: true, doubts: [], claims: {}, arguments: {} },
  enforcement: "performed",
  binding: "",
  cwd: "/",
  target_state: {},
  reason: "",
  options: ["allow_once", "deny"],
  quorum,
  answers: [],
  state,
  created_at: "",
  expires_at: "",
  entry: "",
});
const known = [approval("a"), approval("b")];
const ids = (all: readonly Approval[]) => all.map(({ id }) => id);

test("appends a new approval and removes an answered one", () => {
  expect(ids(upsertPending(known, approval("c")))).toEqual(["a", "b", "c"]);
  expect(ids(upsertPending(known, approval("a", "approved")))).toEqual(["b"]);
});

test("replaces a changed approval in place", () => {
  const changed = upsertPending(known, approval("a", "pending", 2));
  expect(ids(changed)).toEqual(["a", "b"]);
  expect(changed[0]?.quorum).toBe(2);
});

test("returns the same list for an unknown approval that is not pending", () => {
  expect(upsertPending(known, approval("x", "expired"))).toBe(known);
});
