import type { TablesModule } from "@reins/store";
import type { ReadMarks } from "./tables.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE mail_reads (
       mailbox TEXT NOT NULL, agent TEXT NOT NULL, message TEXT NOT NULL, at TEXT NOT NULL,
       PRIMARY KEY (mailbox, agent, message)
     ) STRICT, WITHOUT ROWID`,
  ],
  open(database) {
    const columns = "mail_reads (mailbox, agent, message, at) VALUES (?, ?, ?, ?)";
    const insert = database.prepare(`INSERT INTO ${columns}`);
    const insertIfMissing = database.prepare(`INSERT OR IGNORE INTO ${columns}`);
    const find = database.prepare("SELECT 1 FROM mail_reads WHERE mailbox = ? AND agent = ? AND message = ?");
    type Marking = ReadMarks & { readonly at: string };
    return {
      changes: {
        inject({ mailbox, agent, messages, at }: Marking): void {
          for (const message of messages) insert.run(mailbox, agent, message, at);
        },
        mark({ mailbox, agent, messages, at }: Marking): void {
          for (const message of messages) insertIfMissing.run(mailbox, agent, message, at);
        },
      },
      queries: {
        readAmong: ({ mailbox, agent, messages }: ReadMarks) =>
          messages.filter((message) => find.get(mailbox, agent, message) !== undefined),
      },
    };
  },
};

export default module;
