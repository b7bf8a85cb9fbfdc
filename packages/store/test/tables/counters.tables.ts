import type { TablesModule } from "../../src/store.ts";

const module: TablesModule = {
  migrations: ["CREATE TABLE counters (name TEXT PRIMARY KEY, total INTEGER NOT NULL) STRICT"],
  open(database) {
    const read = database.prepare<{ total: number }>("SELECT total FROM counters WHERE name = ?");
    const write = database.prepare(
      "INSERT INTO counters (name, total) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET total = excluded.total",
    );
    const totalOf = (name: string): number => read.get(name)?.total ?? 0;
    return {
      changes: {
        raise({ name }: { name: string }) {
          const total = totalOf(name) + 1;
          write.run(name, total);
          return total;
        },
      },
      queries: { total: ({ name }: { name: string }) => totalOf(name) },
    };
  },
};

export default module;
