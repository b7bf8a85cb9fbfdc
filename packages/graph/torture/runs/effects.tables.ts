import type { TablesModule } from "@reins/store";

const module: TablesModule = {
  migrations: ["CREATE TABLE effects (key TEXT PRIMARY KEY, times INTEGER NOT NULL) STRICT, WITHOUT ROWID"],
  open(database) {
    const effect = database.prepare(
      "INSERT INTO effects (key, times) VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET times = times + 1",
    );
    const all = database.prepare<{ key: string; times: number }>("SELECT key, times FROM effects");
    return {
      changes: { effect: ({ key }: { key: string }) => void effect.run(key) },
      queries: { effects: () => all.all() },
    };
  },
};

export default module;
