import type { TablesModule } from "../../src/store.ts";
import { cell } from "./cell.ts";

const MIGRATIONS = [
  "CREATE TABLE growing (step INTEGER NOT NULL) STRICT; INSERT INTO growing VALUES (1)",
  "INSERT INTO growing VALUES (2)",
  "INSERT INTO growing VALUES (3); INSERT INTO growing_nowhere VALUES (3)",
];

const version = Number(new URL(import.meta.url).searchParams.get("version"));

const module: TablesModule = {
  migrations: MIGRATIONS.slice(0, version),
  open(database) {
    const read = database.prepare("SELECT step FROM growing ORDER BY step");
    return { changes: {}, queries: { steps: () => read.all().map((row) => Number(cell(row, "step"))) } };
  },
};

export default module;
