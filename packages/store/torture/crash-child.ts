// Commits from many producers, reports each commit that settled, and does not live long.
import { change, openSqlite } from "../src/index.ts";
import { say } from "../test/child.ts";
import { Faults } from "../test/faults.ts";
import { notes } from "../test/tables/notes.ts";
import { tally } from "../test/tables/tally.ts";
import type { CrashOrder } from "./crash.ts";

const order: CrashOrder = JSON.parse(process.argv[2] ?? "");
const { wrap } = new Faults(order.fault);
const store = await openSqlite({ path: order.path, tables: [notes, tally], wrap });
if (!order.checkpointed) await store.commit([change(notes, "pragma", { setting: "wal_autocheckpoint = 0" })]);

async function produce(producer: string): Promise<never> {
  for (let round = 0; ; round += 1) {
    const changes = [
      change(notes, "add", { id: `${producer} ${round}`, text: "x".repeat((round * 131) % order.maxLength) }),
      change(tally, "raise", { name: producer, by: 1 }),
      change(tally, "raise", { name: "all", by: 1 }),
    ];
    await store.commit(changes, { durable: (round * 7) % 10 < order.durable * 10 });
    say(producer);
  }
}

await Promise.all(Array.from({ length: order.producers }, (_, index) => produce(`${order.run}.${index}`)));
