import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { engineConformance } from "@reins/graph/engine-conformance";
import { openSqlite, type Store } from "@reins/store";
import { onTestFinished } from "vitest";
import { JournalEngine } from "../src/engine/journal-engine.ts";
import { StoreJournal } from "../src/engine/store-journal.ts";
import { graphTables } from "../src/engine/tables.ts";

engineConformance("The embedded engine on SQLite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reins-graph-"));
  const stores = new Set<Store>();
  onTestFinished(async () => {
    for (const store of stores) await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    async open(orchestrate) {
      for (const store of stores) await store.close();
      stores.clear();
      const store = await openSqlite({ path: join(folder, "runs.db"), tables: [graphTables] });
      stores.add(store);
      return new JournalEngine({ orchestrate, journal: new StoreJournal(store) });
    },
    kill: (engine) => engine.close(),
  };
});
