import type { Database, Operations } from "@reins/store";
import { describe, expect, it } from "vitest";
import type { Modules } from "../../store/test/simulated/store.ts";
import { Violation } from "../torture/simulation/invariants.ts";
import { type Omission, type Size, simulate } from "../torture/simulation/simulation.ts";

const SIZE: Size = { nodes: 5, tenants: 20, sessions: 300, seconds: 20, faults: 15, approvals: 20 };
const FEW = { ...SIZE, nodes: 3, sessions: 100 };
const MOST_SEEDS = 10;

/** Modules of which one has other changes. */
function changed(
  modules: Modules,
  name: string,
  other: (changes: Operations, database: Database) => Operations,
): Modules {
  const module = modules.get(name);
  if (!module) throw new Error(`there are no tables ${name}`);
  const open = async (database: Database) => {
    const tables = await module.open(database);
    return { ...tables, changes: { ...tables.changes, ...other(tables.changes, database) } };
  };
  return new Map([...modules, [name, { ...module, open }]]);
}

/** A rule that is left out, the invariant that is then broken, and the faults that it takes. */
interface LeftOut {
  readonly rule: string;
  readonly breaks: string;
  readonly omission: Omission;
  readonly kinds?: Size["kinds"];
}

const OMISSIONS: readonly LeftOut[] = [
  {
    rule: "the epoch of a node's claim",
    breaks: "fenced",
    omission: { rewrite: (sql) => sql.replace("store_fence(", "store_fence_of_all(") },
    kinds: ["a node was stopped"],
  },
  {
    rule: "the epoch of a lease",
    breaks: "fenced",
    omission: { modules: (modules) => changed(modules, "leases", () => ({ fence: () => undefined })) },
    kinds: ["the sequencer was stopped"],
  },
  {
    rule: "whether a tenant has an owner",
    breaks: "one owner",
    omission: { rewrite: (sql) => sql.replace("WHERE o.tenant = ?", "WHERE o.tenant = ? AND o.node = ''") },
  },
  {
    rule: "the version of an approval",
    breaks: "one answer",
    omission: {
      modules: (modules) =>
        changed(modules, "approvals", ({ move }, database) => {
          const find = database.prepare<{ version: number }>("SELECT version FROM approvals WHERE id = ?");
          return { move: (args) => move?.({ ...args, version: find.get(args.id)?.version }) };
        }),
    },
  },
  {
    rule: "what other nodes used of a limit",
    breaks: "limits",
    omission: {
      modules: (modules) =>
        changed(modules, "limits", ({ keep }) => ({
          admit: ({ uses }) => keep?.({ uses: uses.map(({ use }: { use: unknown }) => use) }),
        })),
    },
  },
  {
    rule: "whether a commit was kept whose connection broke",
    breaks: "no loss",
    omission: { isCredulous: true },
    kinds: ["a connection broke during a commit"],
  },
];

describe("a simulated cluster", { timeout: 120_000 }, () => {
  it.each([1, 2])("keeps its rules while nodes, network and database fail, seed %i", async (seed) => {
    const { entries, acknowledged, faults } = await simulate({ seed, size: SIZE });
    expect(acknowledged).toBeGreaterThan(SIZE.sessions - 1);
    expect(entries).toBeGreaterThanOrEqual(acknowledged);
    expect(Object.keys(faults).length).toBeGreaterThan(4);
  });

  it("asks for the owner of a tenant once on each node, and lists and notifies the others of nothing that goes on", async () => {
    const { quiet, busy } = await simulate({ seed: 3, size: { ...SIZE, faults: 0, approvals: 0 } });
    const { nodes, tenants } = SIZE;
    const { counts } = busy;
    expect(counts.get("changes of owners")).toBe(tenants);
    expect(counts.get("looks for an owner")).toBeGreaterThan(tenants);
    // Two requests may ask at the same time.
    expect(counts.get("looks for an owner")).toBeLessThan(2 * nodes * tenants);
    expect(counts.get("notices") ?? 0).toBe(0);
    expect(counts.get("choices of nodes")).toBe(tenants);
    for (const { counts: of } of [quiet, busy]) expect(of.get("lists of nodes")).toBe(0);
    expect(counts.get("looks at nodes")).toBeGreaterThan(nodes);
    expect(counts.get("rows of looks at nodes")).toBe(0);
  });

  it.each(OMISSIONS)("is found out without the rule about $rule", async ({ breaks, omission, kinds }) => {
    const size = { ...FEW, ...(kinds && { kinds }) };
    const found: unknown[] = [];
    for (let seed = 1; seed <= MOST_SEEDS && !found.includes(breaks); seed += 1)
      await simulate({ seed, size, ...omission }).catch((error: unknown) => {
        if (!(error instanceof Violation)) throw error;
        found.push(error.rule);
      });
    expect(found).toContain(breaks);
  });
});
