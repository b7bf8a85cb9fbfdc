import { stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { inflateSync } from "node:zlib";
import type { Bench } from "../../../scripts/bench/bench.ts";
import { Crowd } from "./native/crowd.ts";
import { governedClient } from "./native/native-client.ts";

const TURNS = { quick: 100, full: 1_000 };

const bench: Bench = {
  name: "growth",
  title: "The room that turns of the native agent take on the disk, and how many ledger entries they make",
  async run({ scale }) {
    const client = await governedClient();
    try {
      const crowd = new Crowd(client);
      await crowd.turns(1, 10);
      const before = await sizeOf(client.home);
      await crowd.turns(1, TURNS[scale]);
      const after = await sizeOf(client.home);
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
      await client.close();
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
      bodies: entries * bodyLength(database),
    };
  } finally {
    database.close();
  }
}

/** The mean length of the newest entries, unpacked as `docs/ledger-format.md` describes. */
function bodyLength(database: DatabaseSync): number {
  const { value } = database.prepare("SELECT value FROM ledger_meta WHERE name = 'sample_1'").get() ?? {};
  const dictionary = Buffer.from(String(value));
  const rows = database.prepare("SELECT packed FROM ledger_entries ORDER BY seq DESC LIMIT 500").all();
  const lengths = rows.map(({ packed }) =>
    packed instanceof Uint8Array ? inflateSync(packed.subarray(1), { dictionary }).length : 0,
  );
  return lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
}
