import type { TablesModule } from "@reins/store";
import { openChildChanges } from "./child-changes.ts";
import { openQueries } from "./queries.ts";
import { MIGRATIONS } from "./schema.ts";
import { openTokenChanges } from "./token-changes.ts";
import { openUserChanges } from "./user-changes.ts";
import { Versions } from "./versions.ts";

/** Identity inside the store: loaded by the threads that own the database. */
const module: TablesModule = {
  migrations: MIGRATIONS,
  open(database) {
    const versions = new Versions(database);
    return {
      changes: {
        ...openUserChanges(database, versions),
        ...openTokenChanges(database, versions),
        ...openChildChanges(database, versions),
      },
      queries: openQueries(database, versions),
    };
  },
};

export default module;
