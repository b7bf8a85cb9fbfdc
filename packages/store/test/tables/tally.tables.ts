import type { TablesModule } from "../../src/store.ts";
import { cell } from "./cell.ts";

const module: TablesModule = {
  migrations: [
    "CREATE TABLE tallies (name TEXT PRIMARY KEY, total INTEGER NOT NULL CHECK (total >= 0)) STRICT",
  ],
  open(database) {
    const read = database.prepare("SELECT total FROM tallies WHERE name = ?");
    const write = database.prepare(
      "INSERT INTO tallies (name, total) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET total = excluded.total",
    );
    const kept = (name: string): number => Number(cell(read.get(name), "total") ?? 0);
    const remembered = new Map<string, number>();
    let undone = 0;
    return {
      changes: {
        raise({ name, by }: { name: string; by: number }) {
          const total = (remembered.get(name) ?? kept(name)) + by;
          // Remembered before it is written, as something that fails half way might.
          remembered.set(name, total);
          write.run(name, total);
          return total;
        },
        inspect: ({ name }: { name: string }) => ({
          remembered: remembered.get(name),
          kept: kept(name),
          undone,
        }),
      },
      queries: { total: ({ name }: { name: string }) => kept(name) },
      undone() {
        remembered.clear();
        undone += 1;
      },
    };
  },
};

export default module;
