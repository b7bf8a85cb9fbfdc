import type { TablesModule } from "@reins/store";
import type { ReadMarks } from "./tables.ts";

const module: TablesModule = {
  migrations: [
    `CREATE TABLE mail_reads (
       mailbox TEXT NOT NULL, agent TEXT NOT NULL, message TEXT NOT NULL, at TEXT NOT NULL,
       PRIMARY KEY (mailbox, agent, message)
     ) STRICT, WITHOUT ROWID`,
    "ALTER TABLE mail_reads ADD COLUMN pending INTEGER NOT NULL DEFAULT 0",
  ],
  open(database) {
    const one = "mailbox = ? AND agent = ? AND message = ?";
    const columns = "mail_reads (mailbox, agent, message, at, pending)";
    const take = database.prepare(`INSERT INTO ${columns} VALUES (?, ?, ?, ?, 1)`);
    const mark = database.prepare(
      `INSERT INTO ${columns} VALUES (?, ?, ?, ?, 0) ON CONFLICT (mailbox, agent, message) DO UPDATE SET pending = 0`,
    );
    const release = database.prepare(`DELETE FROM mail_reads WHERE ${one} AND pending = 1`);
    const releaseAll = database.prepare("DELETE FROM mail_reads WHERE pending = 1");
    const find = database.prepare(`SELECT pending FROM mail_reads WHERE ${one}`);
    type Marking = ReadMarks & { readonly at: string };
    return {
      changes: {
        take({ mailbox, agent, messages, at }: Marking): void {
          for (const message of messages) take.run(mailbox, agent, message, at);
        },
        mark({ mailbox, agent, messages, at }: Marking): void {
          for (const message of messages) mark.run(mailbox, agent, message, at);
        },
        release({ mailbox, agent, messages }: ReadMarks): void {
          for (const message of messages) release.run(mailbox, agent, message);
        },
        releaseAll(): void {
          releaseAll.run();
        },
      },
      queries: {
        readAmong: ({ mailbox, agent, messages }: ReadMarks) =>
          messages.filter((message) => Object(find.get(mailbox, agent, message)).pending === 0),
        takenAmong: ({ mailbox, agent, messages }: ReadMarks) =>
          messages.filter((message) => find.get(mailbox, agent, message) !== undefined),
      },
    };
  },
};

export default module;
