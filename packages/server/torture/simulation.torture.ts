import type { Torture } from "../../../scripts/torture/torture.ts";
import { type Simulated, type Size, simulate, type Work } from "./simulation/simulation.ts";

const SIZES: Record<"small" | "full", readonly Size[]> = {
  small: [{ nodes: 5, tenants: 20, sessions: 400, seconds: 30, faults: 15, approvals: 20 }],
  full: [
    { nodes: 3, tenants: 100, sessions: 20_000, seconds: 60, faults: 60, approvals: 500 },
    { nodes: 30, tenants: 1_000, sessions: 100_000, seconds: 60, faults: 200, approvals: 500 },
    { nodes: 1_000, tenants: 10_000, sessions: 1_000_000, seconds: 30, faults: 500, approvals: 500 },
  ],
};

export default {
  name: "simulation",
  title:
    "Up to 1,000 nodes and a million sessions, simulated: the rules of leases, claims, owners and the ledger hold",
  async run({ seed, scale, signal, log }) {
    for (const size of SIZES[scale]) {
      log(`${size.nodes} nodes, ${size.tenants} tenants, ${size.sessions} sessions, ${size.faults} faults`);
      show(await simulate({ seed, size, signal, log }), log);
    }
  },
} satisfies Torture;

function show({ quiet, busy, faults, ...counts }: Simulated, log: (message: string) => void): void {
  log(listed(Object.entries(counts), (name, many) => `${many} ${name}`));
  log(listed(Object.entries(faults), (kind, many) => `${many} × ${kind}`));
  log("what the database does a second, while nothing happens, and while sessions begin and nodes fail:");
  const rate = ({ counts: of, seconds }: Work, kind: string) => ((of.get(kind) ?? 0) / seconds).toFixed(1);
  for (const kind of busy.counts.keys()) log(`  ${kind}: ${rate(quiet, kind)}, ${rate(busy, kind)}`);
}

function listed(entries: readonly [string, number][], text: (name: string, many: number) => string): string {
  return entries.map(([name, many]) => text(name, many)).join(", ");
}
