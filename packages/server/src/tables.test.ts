import type { TablesModule } from "@reins/store";
import { expect, it } from "vitest";
import { homeTables } from "./tables.ts";

/** How many migrations there were before versions had to run side by side; the first makes the tables. */
const EARLIER: Readonly<Record<string, number>> = {
  ...{ ledger: 4, identity: 2, limits: 2, graph: 2, graph_runs: 3, mail: 2, nodes: 2 },
};

/** What an older version, which goes on beside, neither notices nor hinders. */
const EXPANDS = [
  /^CREATE TABLE (IF NOT EXISTS )?\w+/,
  /^CREATE INDEX /,
  /^ALTER TABLE \w+ ADD COLUMN (?!.*NOT NULL(?!.*DEFAULT))/s,
];

/** The statements of a migration that are for no older version to go on beside. */
function contracting(migration: TablesModule["migrations"][number]): string[] {
  const texts = typeof migration === "string" ? [migration] : Object.values(migration);
  const statements = texts.flatMap((text) => text.split(";")).map((text) => text.trim());
  return statements.filter((text) => text !== "" && !EXPANDS.some((pattern) => pattern.test(text)));
}

it("migrates only by what nodes of an older version can run beside", async () => {
  for (const { name, module } of homeTables) {
    const loaded: { default: TablesModule } = await import(String(module));
    const later = loaded.default.migrations.slice(EARLIER[name] ?? 1);
    expect(later.flatMap(contracting), name).toEqual([]);
  }
});

it.each([
  ["ALTER TABLE a ADD COLUMN b TEXT; CREATE INDEX c ON a (b)", 0],
  ["ALTER TABLE a ADD COLUMN b INTEGER NOT NULL DEFAULT 0", 0],
  ["ALTER TABLE a ADD COLUMN b INTEGER NOT NULL", 1],
  ["CREATE UNIQUE INDEX c ON a (b)", 1],
  ["ALTER TABLE a DROP COLUMN b; DROP INDEX c; DELETE FROM a", 3],
])("finds what an older version could not go on beside in %s", (migration, many) => {
  expect(contracting(migration)).toHaveLength(many);
});
