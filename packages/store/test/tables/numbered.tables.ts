import type { TablesModule } from "../../src/store.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE number_owners (user TEXT PRIMARY KEY) STRICT;
     CREATE TABLE numbers (
       number INTEGER PRIMARY KEY AUTOINCREMENT,
       user TEXT NOT NULL REFERENCES number_owners (user)
     ) STRICT;
     INSERT INTO number_owners (user) VALUES ('first')`,
  ],
  open(database) {
    const own = database.prepare("INSERT OR IGNORE INTO number_owners (user) VALUES (?)");
    const add = database.prepare<{ number: number }>(
      "INSERT INTO numbers (user) VALUES (?) RETURNING number",
    );
    const remove = database.prepare("DELETE FROM numbers WHERE number = (SELECT max(number) FROM numbers)");
    const all = database.prepare("SELECT number, user FROM numbers ORDER BY number");
    return {
      changes: {
        add(user: string) {
          own.run(user);
          return add.get(user)?.number;
        },
        removeLast: () => void remove.run(),
      },
      queries: { all: () => all.all() },
    };
  },
};

export default module;
