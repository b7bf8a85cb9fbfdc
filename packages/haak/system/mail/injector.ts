// Prints recorded and read messages. Then takes all unread mail of an agent, two messages per turn, and crashes after
// a number of writes; prints the number of writes if it did not.

import { Writes } from "../../../store/test/deadly-database.ts";
import { mailTables } from "../../src/mail/tables.ts";
import { openMailHome, subjectOf } from "../../test/mail-home.ts";

const [home = "", deadlyWrite = "0"] = process.argv.slice(2);
const writes = new Writes();
const { store, ledger, mailbox, close } = await openMailHome(home, {
  limits: { perTurn: 2 },
  wrap: {
    module: new URL("../../../store/test/deadly-database.ts", import.meta.url).href,
    settings: { shared: writes.shared },
  },
});

const entries = await ledger.read({ limit: 1_000 });
const recorded = entries.flatMap(({ entry }) =>
  entry.quality === "mailbox_inject" ? [String(Object(entry.payload).message)] : [],
);
const all = (await mailbox.read()).messages.map(({ id }) => id);
const read = await store.query(mailTables, "takenAmong", {
  mailbox: "default",
  agent: "coder",
  messages: all,
});
console.log(JSON.stringify({ all, recorded, read }));

// Waits for a checkpoint that opening may have started.
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
