import { stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Bench } from "../../../scripts/bench/bench.ts";
import { Crowd } from "./native/crowd.ts";
import { governedHouse } from "./native/house.ts";

const TURNS = { quick: 100, full: 1_000 };

const bench: Bench = {
  name: "growth",
  title:
    "The room that turns of the native agent take on the disk, against what they would take uncompressed",
  async run({ scale }) {
    const house = await governedHouse();
    try {
      const crowd = new Crowd(house);
      await crowd.turns(1, 10);
      const before = await sizeOf(house.home);
      await crowd.turns(1, TURNS[scale]);
      const after = await sizeOf(house.home);
      const perTurn = (of: (size: Size) => number) => (of(after) - of(before)) / TURNS[scale] / 1_000;
      return [
        {
          what: "a turn on the disk",
          value: perTurn(({ packed }) => packed),
          unit: "kB",
          baseline: { what: "its entries and messages as they are", value: perTurn(({ plain }) => plain) },
        },
      ];
    } finally {
      await house.close();
    }
  },
};

export default bench;

interface Size {
  /** The pages in use, but for what is bounded. */
  readonly packed: number;
  /** The same, with every text as it was before it was packed. */
  readonly plain: number;
}

async function sizeOf(home: string): Promise<Size> {
  const path = join(home, "reins.db");
  await stat(path);
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const number = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0] ?? 0);
    const packed = number("SELECT sum(pgsize) FROM dbstat WHERE name <> 'ledger_recent'");
    const texts = number(
      "SELECT (SELECT total(length(packed)) FROM ledger_entries) + (SELECT total(length(packed)) FROM log_events)",
    );
    const entries = number("SELECT count(*) FROM ledger_entries");
    const mean = number("SELECT avg(length(body)) FROM ledger_recent");
    return { packed, plain: packed - texts + entries * mean + messages(database) };
  } finally {
    database.close();
  }
}

/** The length of all messages; zstd says in the head of a frame how long its content is. */
function messages(database: DatabaseSync): number {
  let total = 0;
  for (const { packed } of database.prepare("SELECT packed FROM log_events").iterate())
    if (packed instanceof Uint8Array) total += contentSize(Buffer.from(packed.subarray(1)));
  return total;
}

/** RFC 8878, 3.1.1.1: a descriptor, then the size in as many bytes as it says. */
function contentSize(frame: Buffer): number {
  const descriptor = frame[4] ?? 0;
  const single = (descriptor & 0x20) !== 0;
  const at = 5 + (single ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] ?? 0);
  switch (descriptor >> 6) {
    case 0:
      return single ? (frame[at] ?? 0) : 0;
    case 1:
      return frame.readUInt16LE(at) + 256;
    case 2:
      return frame.readUInt32LE(at);
    default:
      return Number(frame.readBigUInt64LE(at));
  }
}
