import SqliteDatabase from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { contentOf, prepare } from "../canonical.ts";
import module from "./module.ts";
import type { EntryRange } from "./queries.ts";
import { MIGRATIONS } from "./schema.ts";

const clock = { now: () => new Date(1_700_000_000_000 + tick++ * 1_000), after: () => () => undefined };
let tick = 0;

/** The ledger's tables in memory, and how many entries they hold that the index does not know. */
async function opened() {
  const database = new SqliteDatabase(":memory:");
  for (const migration of MIGRATIONS) database.exec(migration);
  const tables = await module.open({ ...portTo(database) });
  let count = 0;
  const add = (many: number) => {
    for (let index = 0; index < many; index += 1) tables.changes.append?.(draft(count++));
  };
  const missing = () =>
    database
      .prepare("SELECT count(*) FROM ledger_entries WHERE seq NOT IN (SELECT seq FROM ledger_index)")
      .pluck()
      .get();
  const found = (range: EntryRange): number[] =>
    Object(tables.queries.range?.(range)).map(({ seq }: { seq: number }) => seq);
  return { database, tables, add, missing, found };
}

function portTo(database: SqliteDatabase.Database) {
  return {
    prepare: <Row>(sql: string) => database.prepare<unknown[], Row>(sql),
    exec: (sql: string) => void database.exec(sql),
    inTransaction: false,
    close: () => undefined,
  };
}

/** Every third is a result, every fifth is by another actor, every seventh has a tag of its own, twice. */
function draft(n: number) {
  const content = contentOf(
    {
      quality: n % 3 === 0 ? "tool_result" : "policy_verdict",
      actor: n % 5 === 0 ? "bob" : "ann",
      target: "",
      entity_id: `ann:cli:${n % 2}`,
      payload: { n },
      tags: n % 7 === 0 ? ['seven \u0000 "ü"', "all", "all"] : ["all"],
    },
    clock,
  );
  return prepare(content);
}

/** What every way of looking finds, page by page, against what a look at each entry would. */
function expectAllFound(found: (range: EntryRange) => number[], size: number): void {
  const all = Array.from({ length: size }, (_, seq) => seq);
  const ways: [EntryRange, (seq: number) => boolean][] = [
    [{}, () => true],
    [{ quality: "tool_result" }, (seq) => seq % 3 === 0],
    [{ actor: "bob" }, (seq) => seq % 5 === 0],
    [{ tag: "all" }, () => true],
    [{ tag: 'seven \u0000 "ü"' }, (seq) => seq % 7 === 0],
    [{ tag: "all", actor: "bob", quality: "tool_result" }, (seq) => seq % 15 === 0],
    [{ entity_id: "ann:cli:1", actor: "bob" }, (seq) => seq % 10 === 5],
    [{ entity_id: "ann:cli:1", tag: 'seven \u0000 "ü"' }, (seq) => seq % 14 === 7],
    [{ entity_prefix: "ann:", quality: "tool_result" }, (seq) => seq % 3 === 0],
  ];
  for (const [range, isWanted] of ways) {
    const wanted = all.filter(isWanted);
    expect(pages(found, range)).toEqual(wanted);
    expect(pages(found, { ...range, order: "newest" })).toEqual(wanted.toReversed());
  }
}

function pages(found: (range: EntryRange) => number[], range: EntryRange): number[] {
  const seen: number[] = [];
  for (;;) {
    const page = found({ ...range, after: seen.at(-1), limit: 50 });
    seen.push(...page);
    if (page.length < 50) return seen;
  }
}

describe("the index of entries", () => {
  it("is brought up to date when the store is idle, for many entries at once", async () => {
    const { tables, add, missing, found } = await opened();
    add(255);
    expect(tables.chore?.()).toBeUndefined();
    expectAllFound(found, 255);
    add(1);
    expect(missing()).toBe(256);
    tables.chore?.()?.();
    expect(missing()).toBe(0);
    expectAllFound(found, 256);
    add(70);
    expectAllFound(found, 326);
  });

  it("does not fall behind without bound while the store is never idle", async () => {
    const { add, missing, found } = await opened();
    add(1_023);
    expect(missing()).toBe(1_023);
    add(1);
    expect(missing()).toBe(0);
    add(3);
    expectAllFound(found, 1_027);
  });

  it("knows what is missing after something was undone", async () => {
    const { database, tables, add, missing, found } = await opened();
    add(200);
    database.exec("BEGIN");
    add(900);
    expect(missing()).toBe(76);
    database.exec("ROLLBACK");
    tables.undone?.();
    expectAllFound(found, 200);
    expect(tables.chore?.()).toBeUndefined();
    add(56);
    expect(tables.chore?.()).toBeDefined();
  });

  it("has the entries of a ledger that was kept without it", async () => {
    const database = new SqliteDatabase(":memory:");
    database.exec(MIGRATIONS[0] ?? "");
    database
      .prepare(
        `INSERT INTO ledger_entries VALUES (0, 'c', 'ann:cli:0', 'kill', 'ann', '2026-01-01T00:00:00.000Z', '{"tags":[]}')`,
      )
      .run();
    for (const migration of MIGRATIONS.slice(1)) database.exec(migration);
    const tables = await module.open(portTo(database));
    expect(tables.queries.range?.({ quality: "kill" })).toMatchObject([{ seq: 0, cid: "c" }]);
  });
});
