import { describe, expect, it } from "vitest";
import type { ProcessTable } from "../process/process-table.ts";
import { exactOrder, executeKill, targetsOf } from "./execute-kill.ts";
import type { KillOrder } from "./journal.ts";
import type { LiveProcess } from "./kill-switch.ts";

function live(id: string, agent: string, tenant: string, ...sessions: string[]): LiveProcess {
  return {
    ...{ id, agent, tenant, sessions, pid: Number(id), roots: [], principal: "local", confined: false },
    started_at: "2026-01-01T00:00:00.000Z",
  };
}

const running = [
  live("11", "claude", "default", "abcdef01", "abcdef02"),
  live("12", "codex", "default", "123456aa"),
  live("13", "claude", "acme", "fedcba99"),
];

function meant(target: KillOrder["target"], tenant: string | null = null): string[] {
  const order = { id: "k", target, tenant, by: "operator", reason: null };
  return targetsOf(exactOrder(order, running), running).map(({ id }) => id);
}

describe("an order", () => {
  it("matches by agent, process or all, within a tenant or across tenants", () => {
    expect(meant({ kind: "all" })).toEqual(["11", "12", "13"]);
    expect(meant({ kind: "all" }, "acme")).toEqual(["13"]);
    expect(meant({ kind: "agent", name: "claude" })).toEqual(["11", "13"]);
    expect(meant({ kind: "agent", name: "claude" }, "default")).toEqual(["11"]);
    expect(meant({ kind: "process", name: "12" })).toEqual(["12"]);
    expect(meant({ kind: "process", name: "12" }, "acme")).toEqual([]);
  });

  it("matches a session by its id or an unambiguous prefix", () => {
    expect(meant({ kind: "session", name: "abcdef02" })).toEqual(["11"]);
    expect(meant({ kind: "session", name: "123456" })).toEqual(["12"]);
    expect(meant({ kind: "session", name: "abcdef" })).toEqual([]);
    expect(meant({ kind: "session", name: "12345" })).toEqual([]);
    expect(meant({ kind: "session", name: "fedcba" }, "default")).toEqual([]);
  });
});

describe("a report", () => {
  it("names the tenant of the agents, and none if there are several", async () => {
    const empty: ProcessTable = {
      visibility: "marks",
      async scan() {},
      find: async () => undefined,
      signal: () => false,
    };
    const ground = { table: empty, prefix: { text: "t", brand: "b" }, now: () => new Date(0) };
    const order = { id: "k", target: { kind: "all" }, tenant: null, by: "operator", reason: null } as const;
    const tenantOf = async (...of: LiveProcess[]) => (await executeKill(order, of, ground)).tenant;
    const [claude, codex, theirs] = running;
    expect(await tenantOf(claude!, codex!)).toBe("default");
    expect(await tenantOf(claude!, theirs!)).toBeNull();
    expect(await tenantOf()).toBeNull();
  });
});
