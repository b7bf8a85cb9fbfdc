import { graphTables, journalPlace } from "@reins/graph";
import { change, type Store } from "@reins/store";
import type { Vault } from "@reins/supervisor";
import { declaredRunTables, type StoredDeclaredRun, type StoredTurnRow } from "./tables.ts";

/**
 * How runs and transcripts lie on the disk: sealed, because what is done is exact and what was said may hold secrets. Each
 * text is opened at its own place only.
 */
export const runPlace = (
  { tenant, run }: Pick<StoredDeclaredRun, "tenant" | "run">,
  part: "declared" | "state",
) => `declared_runs/${tenant}/${run}/${part}`;
export const turnPlace = ({ tenant, session }: Pick<StoredTurnRow, "tenant" | "session">) =>
  `declared_turns/${tenant}/${session}`;

const PAGE = 100;

/** Seals runs, transcripts and journals anew that were sealed with a former key; what cannot be opened stays as it is. */
export async function renewGraphSeals(store: Pick<Store, "query" | "commit">, vault: Vault): Promise<void> {
  const beginnings = vault.formerKeys.map((key) => `v1.${key}.`);
  if (beginnings.length === 0) return;
  const range = { beginnings, limit: PAGE };
  for (;;) {
    const { runs, turns } = await store.query(declaredRunTables, "beginningWith", range);
    const entries = await store.query(graphTables, "beginningWith", range);
    const changes = [
      ...runs.flatMap((row) => {
        const declared = vault.renew(runPlace(row, "declared"), row.declared);
        const state = vault.renew(runPlace(row, "state"), row.state);
        return declared === undefined || state === undefined
          ? []
          : [change(declaredRunTables, "renewRun", { ...row, declared, state })];
      }),
      ...turns.flatMap((row) => {
        const turn = vault.renew(turnPlace(row), row.turn);
        return turn === undefined ? [] : [change(declaredRunTables, "renewTurn", { seq: row.seq, turn })];
      }),
      ...entries.flatMap((row) => {
        const value = vault.renew(journalPlace(row), row.value);
        return value === undefined ? [] : [change(graphTables, "renew", { ...row, value })];
      }),
    ];
    // What cannot be opened would be found again for ever.
    if (changes.length === 0) return;
    await store.commit(changes);
  }
}
