import { createHash } from "node:crypto";
import type { LedgerEntry, PlacedEntry } from "@reins/ledger";

/** An entry with a content id of its own. */
export function entry(quality: LedgerEntry["quality"], members: Partial<LedgerEntry> = {}): LedgerEntry {
  const rest = {
    ...{ entity_id: "coder:ahp:s1", source: "coder:ahp:s1", target: "Bash", actor: "coder", quality },
    ...{ timestamp: "2026-11-18T07:00:00.000Z", parents: [], tags: [], payload: {} },
    ...{ proof: null, envelope: null, ...members },
  };
  return { cid: createHash("sha256").update(JSON.stringify(rest)).digest("hex"), ...rest };
}

/** The entry of a verdict. */
export function verdict(given: string, effects: readonly object[] = []): LedgerEntry {
  return entry("policy_verdict", {
    tags: ["verdict", given],
    payload: {
      ...{ verdict: given, rule: "a_rule", reason: "because", rules_hash: "r1", enforcement: "asked" },
      ...{ event_type: "pre_action", facts: { tool: "Bash", effects } },
      subject: { user: "ann", tenant: "acme", session: "s1", agent: "coder" },
    },
  });
}

/** A ledger in memory. */
export class EntryList {
  readonly entries: LedgerEntry[];

  constructor(entries: readonly LedgerEntry[] = []) {
    this.entries = [...entries];
  }

  async read({ after = -1, limit = 100 }: { readonly after?: number; readonly limit?: number } = {}) {
    return this.entries
      .map((one, seq): PlacedEntry => ({ seq, entry: one }))
      .filter(({ seq }) => seq > after)
      .slice(0, limit);
  }

  async get(cid: string): Promise<PlacedEntry | undefined> {
    const seq = this.entries.findIndex((one) => one.cid === cid);
    const found = this.entries[seq];
    return found && { seq, entry: found };
  }
}

/** Entries that differ in their target. */
export function numbered(count: number): LedgerEntry[] {
  return Array.from({ length: count }, (_, index) => entry("turn", { target: `s${index}` }));
}
