// A process that records entries, as a node or as the only one: says when it has opened the ledger and, after it was asked
// to write, how long it took until all were kept.
import { openPostgres, readPostgresAddress } from "@reins/store";
import { KeyFolder } from "../src/keys/key-folder.ts";
import { Ledger } from "../src/ledger.ts";
import { ledgerTables } from "../src/tables/tables.ts";
import { verdict } from "./sample.ts";

const [address = "", id = "", keys = "", producers = "", count = ""] = process.argv.slice(2);
const store = await openPostgres({
  ...{ address: readPostgresAddress(address), tables: [ledgerTables] },
  ...(id !== "" && { node: { id, labels: {} } }),
});
const ledger = await Ledger.open({ store, signers: new KeyFolder(keys), newOrigin: () => "reins/bench" });
process.stdout.write("open\n");

process.stdin.once("data", async () => {
  const start = performance.now();
  let left = Number(count);
  const produce = async (producer: number) => {
    for (; left > 0; left -= 1)
      await ledger.record([{ ...verdict(producer, left), entity_id: `${id}:cli:${producer}` }]);
  };
  await Promise.all(Array.from({ length: Number(producers) }, (_, producer) => produce(producer)));
  process.stdout.write(`${performance.now() - start}\n`);
  await ledger.close();
  await store.close();
  process.stdin.destroy();
});
