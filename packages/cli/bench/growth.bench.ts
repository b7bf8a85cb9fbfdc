import { stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Bench } from "../../../scripts/bench/bench.ts";
import { Crowd } from "./native/crowd.ts";
import { governedHouse } from "./native/house.ts";

const TURNS = { quick: 100, full: 1_000 };

const bench: Bench = {
  name: "growth",
  title: "The room that turns of the native agent take on the disk, and how many ledger entries they make",
  async run({ scale }) {
    const house = await governedHouse();
    try {
      const crowd = new Crowd(house);
      await crowd.turns(1, 10);
      const before = await sizeOf(house.home);
      await crowd.turns(1, TURNS[scale]);
      const after = await sizeOf(house.home);
      const perTurn = (of: (size: Size) => number) => (of(after) - of(before)) / TURNS[scale];
      return [
        {
          what: "two turns of a session on the disk, one with a tool call",
          value: perTurn(({ pages }) => pages) / 1_000,
          unit: "kB",
          baseline: {
            what: "their ledger entries uncompressed",
            value: perTurn(({ bodies }) => bodies) / 1_000,
          },
        },
        {
          what: "ledger entries of these turns and of the session's start and end",
          value: perTurn(({ entries }) => entries),
          unit: "entries",
        },
      ];
    } finally {
      await house.close();
    }
  },
};

export default bench;

interface Size {
  /** Bytes of pages in use, but for the table whose size is bounded. */
  readonly pages: number;
  readonly entries: number;
  /** Bytes of the entries' canonical form before it was compressed, estimated by the mean of recent ones. */
  readonly bodies: number;
}

async function sizeOf(home: string): Promise<Size> {
  const path = join(home, "reins.db");
  await stat(path);
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const number = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0] ?? 0);
    const entries = number("SELECT count(*) FROM ledger_entries");
    return {
      pages: number("SELECT sum(pgsize) FROM dbstat WHERE name <> 'ledger_recent'"),
      entries,
      bodies: entries * number("SELECT avg(length(body)) FROM ledger_recent"),
    };
  } finally {
    database.close();
  }
}
