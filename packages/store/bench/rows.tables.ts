import type { TablesModule } from "../src/index.ts";
import { INSERT, type Row, SCHEMA } from "./row.ts";

const module: TablesModule = {
  migrations: [SCHEMA],
  open(database) {
    const insert = database.prepare(INSERT);
    const count = database.prepare("SELECT count(*) FROM rows");
    return {
      changes: {
        insert({ seq, cid, entity, body }: Row): number {
          insert.run(seq, cid, entity, body);
          return seq;
        },
      },
      queries: { count: () => count.get() },
    };
  },
};

export default module;
