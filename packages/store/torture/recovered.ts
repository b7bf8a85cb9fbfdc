import SqliteDatabase from "better-sqlite3";
import { openSqlite } from "../src/index.ts";
import { notes } from "../test/tables/notes.ts";
import { tally } from "../test/tables/tally.ts";
import type { Settled } from "./crash.ts";

/** What a database was like when it was opened after a crash. */
export interface Recovery {
  readonly rows: number;
  /** Until the first query was answered. */
  readonly milliseconds: number;
}

/** Opens a database after a crash; throws unless it holds what had settled, whole commits, and nothing else. */
export async function recover(path: string, settled: Settled): Promise<Recovery> {
  const began = performance.now();
  const store = await openSqlite({ path, tables: [notes, tally] });
  const all = await store.query(tally, "total", { name: "all" });
  const milliseconds = performance.now() - began;
  try {
    const rounds = roundsOf(await store.query(notes, "ids", null));
    let rows = 0;
    for (const [producer, count] of rounds) {
      rows += count;
      const total = await store.query(tally, "total", { name: producer });
      expect(total === count, `half of a commit: ${producer} has ${count} notes and counts ${total}`);
    }
    expect(all === rows, `half of a commit: there are ${rows} notes, and ${all} are counted`);
    for (const [producer, count] of settled) {
      const kept = rounds.get(producer) ?? 0;
      expect(kept >= count, `lost: ${count} commits of ${producer} had settled, ${kept} are there`);
      expect(kept <= count + 1, `${producer} waited for commit ${count}, yet ${kept} are there`);
    }
    return { rows, milliseconds };
  } finally {
    await store.close();
  }
}

/** Throws unless SQLite finds the file sound. */
export function expectSound(path: string): void {
  const database = new SqliteDatabase(path, { readonly: true });
  try {
    const found = database.pragma("integrity_check", { simple: true });
    expect(found === "ok", `the database is damaged: ${String(found)}`);
  } finally {
    database.close();
  }
}

/** How many notes each producer has; throws if one is missing between others. */
function roundsOf(ids: readonly string[]): Map<string, number> {
  const rounds = new Map<string, number>();
  for (const id of ids) {
    const [producer = "", round] = id.split(" ");
    const next = rounds.get(producer) ?? 0;
    expect(Number(round) === next, `${producer} has note ${round} where ${next} should be`);
    rounds.set(producer, next + 1);
  }
  return rounds;
}

function expect(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}
