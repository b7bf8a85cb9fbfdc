import { cp, mkdir, mkdtemp, open, readFile, rm, stat, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { seededRandom } from "../../../scripts/torture/random.ts";
import { change } from "../src/sqlite/sqlite-store.ts";
import { StoreError } from "../src/store-error.ts";
import { openInProcess, write } from "../test/in-process.ts";
import { notes } from "../test/tables/notes.ts";
import { tally } from "../test/tables/tally.ts";
import { crash, type Settled } from "../torture/crash.ts";

const MAX_LENGTH = 4_000;
const FILES = ["reins.db", "reins.db-wal", "reins.db.mark", "reins.db.sums"] as const;
const random = seededRandom(20_261_116);

/** A home after kill -9, an older copy of it, and what its callers know was kept. */
interface Killed {
  readonly folder: string;
  readonly older: string;
  readonly settled: Settled;
}

let killed: Killed;

beforeAll(async () => {
  const root = await mkdtemp(join(tmpdir(), "store-damage-"));
  const folder = join(root, "home");
  const older = join(root, "older");
  await mkdir(folder);
  const path = join(folder, "reins.db");
  const order = { path, producers: 4, durable: 0.5, maxLength: MAX_LENGTH, checkpointed: true };
  const opened = await openInProcess(path);
  for (let count = 0; count < 200; count += 1)
    opened.apply([
      write(
        change(notes, "add", { id: `0.0 ${count}`, text: textOf(count) }),
        change(tally, "raise", { name: "0.0", by: 1 }),
        change(tally, "raise", { name: "all", by: 1 }),
      ),
    ]);
  opened.close();
  await cp(folder, older, { recursive: true });
  const settled = await crash({ ...order, run: 1 }, 300, 0);
  killed = { folder, older, settled: new Map([...settled, ["0.0", 200]]) };
});

afterAll(() => rm(join(killed.folder, ".."), { recursive: true, force: true }));

describe("a database after kill -9", () => {
  it("is opened without a word where nothing was touched", async () => {
    expect(await outcomeOf(await copy())).toBe("whole");
  });

  it("is announced when an older copy is put in its place", async () => {
    const folder = await copy();
    await cp(join(killed.older, "reins.db"), join(folder, "reins.db"));
    await rm(join(folder, "reins.db-wal"));
    expect(await outcomeOf(folder)).toBe("lost");
  });

  it("is announced when an older copy is put in its place and was written to for longer", async () => {
    const folder = await copy();
    const counted = await countIn(folder);
    await rm(join(folder, "reins.db-wal"), { force: true });
    await cp(join(killed.older, "reins.db"), join(folder, "reins.db"));
    const elsewhere = join(folder, "elsewhere");
    await mkdir(elsewhere);
    await cp(join(killed.older, "reins.db"), join(elsewhere, "reins.db"));
    const other = await openInProcess(join(elsewhere, "reins.db"));
    while ((countOfMark(other) ?? 0) < counted)
      other.apply([write(change(tally, "raise", { name: "other", by: 1 }))]);
    other.close();
    await cp(join(elsewhere, "reins.db"), join(folder, "reins.db"));
    expect(await outcomeOf(folder)).toBe("lost");
  });

  it("is announced when it is gone", async () => {
    const folder = await copy();
    for (const file of ["reins.db", "reins.db-wal"]) await rm(join(folder, file));
    expect(await outcomeOf(folder)).toBe("lost");
  });

  it.each(FILES)("is whole or announced when %s is gone", async (file) => {
    const folder = await copy();
    await rm(join(folder, file));
    const outcome = await outcomeOf(folder);
    if (file === "reins.db-wal") expect(outcome).toBe("lost");
    else expect(outcome).toBeOneOf(["whole", "lost", "corrupt"]);
  });

  it.each(FILES)(
    "is whole or announced wherever a bit of %s is flipped",
    { timeout: 120_000 },
    async (file) => {
      const outcomes = await damageAtPlaces(file, async (path, place) => {
        const handle = await open(path, "r+");
        const byte = Buffer.alloc(1);
        await handle.read(byte, 0, 1, place);
        byte[0] = (byte[0] ?? 0) ^ (1 << random.int(8));
        await handle.write(byte, 0, 1, place);
        await handle.close();
      });
      if (file === "reins.db-wal" || file === "reins.db")
        expect(outcomes.filter((outcome) => outcome !== "whole").length).toBeGreaterThan(outcomes.length / 3);
    },
  );

  it.each(FILES)("is whole or announced wherever %s is cut off", { timeout: 120_000 }, async (file) => {
    await damageAtPlaces(file, truncate);
  });

  it("is opened with its loss accepted, and is whole from then on", async () => {
    const folder = await copy();
    await rm(join(folder, "reins.db-wal"));
    const { openSqlite } = await import("../src/index.ts");
    const losses: string[] = [];
    const options = { path: join(folder, "reins.db"), tables: [notes, tally] };
    await expect(openSqlite(options)).rejects.toMatchObject({ code: "lost", retryable: false });
    const store = await openSqlite({ ...options, acceptLoss: true, onLoss: ({ kind }) => losses.push(kind) });
    await store.commit([change(tally, "raise", { name: "after", by: 1 })]);
    await store.close();
    expect(losses).toEqual(["rolled_back"]);
    await (await openSqlite({ ...options, onLoss: ({ kind }) => losses.push(kind) })).close();
    expect(losses).toEqual(["rolled_back"]);
  });

  it("is whole after another program has taken its log over", async () => {
    const folder = await copy();
    const { default: SqliteDatabase } = await import("better-sqlite3");
    const other = new SqliteDatabase(join(folder, "reins.db"));
    other.pragma("wal_checkpoint(TRUNCATE)");
    other.close();
    expect(await outcomeOf(folder)).toBe("whole");
  });
});

async function damageAtPlaces(
  file: string,
  damage: (path: string, place: number) => Promise<void>,
): Promise<readonly string[]> {
  const { size } = await stat(join(killed.folder, file));
  const outcomes: string[] = [];
  for (let round = 0; round < 14; round += 1) {
    const folder = await copy();
    const place = random.int(size);
    await damage(join(folder, file), place);
    const outcome = await outcomeOf(folder);
    outcomes.push(outcome);
    expect(outcome, `${file}, byte ${place}`).toBeOneOf(["whole", "lost", "corrupt"]);
    await rm(folder, { recursive: true });
  }
  return outcomes;
}

let copies = 0;

async function copy(): Promise<string> {
  copies += 1;
  const folder = `${killed.folder}-${copies}`;
  await mkdir(folder);
  // The index of the log is made anew, as after a power cut.
  for (const file of FILES) await cp(join(killed.folder, file), join(folder, file));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** `whole` when everything that was promised is there, else what was announced, else `silent`. */
async function outcomeOf(folder: string): Promise<string> {
  try {
    const opened = await openInProcess(join(folder, "reins.db"));
    try {
      for (const [producer, count] of killed.settled) {
        for (let round = 0; round < count; round += 1) {
          const found = opened.query("notes", "find", { id: `${producer} ${round}` });
          if (typeof found !== "object" || found === null || !("text" in found)) return "silent";
          if (found.text !== textOf(round)) return "silent";
        }
        if (Number(opened.query("tally", "total", { name: producer })) < count) return "silent";
      }
      return "whole";
    } finally {
      opened.close();
    }
  } catch (error) {
    if (error instanceof StoreError) return error.code;
    throw error;
  }
}

async function countIn(folder: string): Promise<number> {
  const text = await readFile(join(folder, "reins.db.mark"), "latin1");
  return Math.max(...[...text.matchAll(/"count":(\d+)/g)].map(([, count]) => Number(count)));
}

function countOfMark(opened: Awaited<ReturnType<typeof openInProcess>>): number | undefined {
  const row = opened.query("tally", "total", { name: "other" });
  return row === undefined ? undefined : Number(row) + 201;
}

function textOf(round: number): string {
  return "x".repeat((round * 131) % MAX_LENGTH);
}
