import type { Grant } from "@reins/api";
import { describe, expect, it } from "vitest";
import { describeGrant, isInForce } from "./grants.ts";

const NOW = new Date("2026-11-15T05:25:00Z");

function grant(given: Partial<Grant> = {}): Grant {
  return {
    id: "grt_1",
    tenant: "acme",
    user: "ann",
    agent: "claude",
    chain: [],
    enforcement: "asked",
    event_type: "pre_action",
    tool: "Bash",
    effects: [{ kind: "exec", command: "make", arguments: [], opaque: true }],
    cwd: "/project",
    binding: "ab".repeat(32),
    approval: "apr_1",
    by: ["user:acme/ann"],
    created_at: "2026-11-15T05:20:00.000Z",
    uses: 0,
    ...given,
  };
}

describe("a grant", () => {
  it("shows what it allows, for whom, by whom, and how often it was used", () => {
    const used = grant({
      arguments: { command: "make" },
      chain: ["lead"],
      uses: 2,
      used_at: "2026-11-15T05:24:00.000Z",
    });
    expect(describeGrant(used, NOW, 80)).toBe(`grant      grt_1, until revoked
lets       agent claude, begun by lead, for user ann
do         run make (opaque)
given      command: make
with       Bash in /project
by         user:acme/ann at 2026-11-15 05:20:00Z (apr_1)
used       2 times, last 1m ago

`);
    expect(describeGrant(grant(), NOW, 80)).toContain("used       never\n");
    const unreadable = grant({ unreadable: "its key is missing" });
    expect(describeGrant(unreadable, NOW, 80)).toContain("grt_1, counts no more: its key is missing\n");
    expect(isInForce(unreadable, NOW)).toBe(false);
  });

  it("is in force until it expires or is revoked", () => {
    const shown = (given: Partial<Grant>) => [
      isInForce(grant(given), NOW),
      describeGrant(grant(given), NOW, 80).split("\n")[0],
    ];
    expect(shown({ expires_at: "2026-11-15T05:26:00.000Z" })).toEqual([true, "grant      grt_1, 1m left"]);
    expect(shown({ expires_at: "2026-11-15T05:25:00.000Z" })).toEqual([false, "grant      grt_1, over"]);
    expect(shown({ revoked_at: "2026-11-15T05:24:00.000Z", revoked_by: "user:acme/bob" })).toEqual([
      false,
      "grant      grt_1, revoked by user:acme/bob at 2026-11-15 05:24:00Z",
    ]);
    expect(shown({ revoked_at: "2026-11-15T05:24:00.000Z" })[1]).toContain("ran out at");
  });
});
