// A node among others on one database: opens it, if it can, and counts until its input ends.
import { setTimeout as sleep } from "node:timers/promises";
import { change, openPostgres, readPostgresAddress, StoreError } from "../../src/index.ts";
import { nodeTables } from "../../src/nodes.ts";
import { say } from "../../test/child.ts";
import { counters } from "../../test/tables/counters.ts";
import { notes } from "../../test/tables/notes.ts";

const [address = "", id = ""] = process.argv.slice(2);
let ended = false;
process.stdin.on("end", () => {
  ended = true;
});
process.stdin.resume();

try {
  const node = { id, labels: { zone: "test" }, capacity: 3 };
  const store = await openPostgres({
    address: readPostgresAddress(address),
    tables: [notes, counters, nodeTables],
    node,
  });
  say("open");
  const count = async (name: string) => {
    while (!ended) {
      const note = { id: `${id} ${process.pid} ${name} ${performance.now()}`, text: "" };
      try {
        const [total] = await store.commit([change(counters, "raise", { name }), change(notes, "add", note)]);
        say(total);
      } catch (error) {
        // It may have stopped inside a transaction, whose connection the database ends.
        if (!(error instanceof StoreError && error.code === "unavailable")) throw error;
        await sleep(20);
      }
    }
  };
  // Some in one transaction, and each in its own.
  await Promise.all(Array.from({ length: 4 }, () => count("all")));
  await store.close();
} catch (error) {
  if (!(error instanceof StoreError)) throw error;
  say({ code: error.code, message: error.message });
  process.exit();
}
