// Tells what is recorded and what is marked as read; then puts all unread mail of an agent into turns, two messages at a
// time, and dies as by a power switch after so many writes of it. Tells how many writes it took if it did not.
import { mailTables } from "../../src/mail/tables.ts";
import { openMailHome, subjectOf } from "../../test/mail-home.ts";
import { Writes } from "./deadly-database.ts";

const [home = "", deadlyWrite = "0"] = process.argv.slice(2);
const writes = new Writes();
const { store, ledger, mailbox, close } = await openMailHome(home, {
  limits: { perTurn: 2 },
  wrap: {
    module: new URL("./deadly-database.ts", import.meta.url).href,
    settings: { shared: writes.shared },
  },
});

const entries = await ledger.read({ limit: 1_000 });
const recorded = entries.flatMap(({ entry }) =>
  entry.quality === "mailbox_inject" ? [String(Object(entry.payload).message)] : [],
);
const all = (await mailbox.list()).map(({ id }) => id);
const read = await store.query(mailTables, "takenAmong", {
  mailbox: "default",
  agent: "coder",
  messages: all,
});
console.log(JSON.stringify({ all, recorded, read }));

// The checkpoint that opening may have made due is not what is looked at.
await ledger.checkpoint();
const before = writes.passed;
writes.dieAfter(Number(deadlyWrite));
const { messages } = await mailbox.injectUnread(subjectOf("coder"), ledger);
writes.dieAfter(0);
console.log(JSON.stringify({ injected: messages.length, writes: writes.passed - before }));
for (let left = messages.length; left > 0; ) {
  left = (await mailbox.injectUnread(subjectOf("coder"), ledger)).messages.length;
}
await close();
