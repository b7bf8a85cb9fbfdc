// A node among others that write one ledger: adds to chains of its own, and to one of all, until its input ends.
import { setTimeout as sleep } from "node:timers/promises";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openPostgres, readPostgresAddress, StoreError } from "@reins/store";
import { say } from "../../../store/test/child.ts";

const [address = "", id = "", keys = ""] = process.argv.slice(2);
let ended = false;
process.stdin.on("end", () => {
  ended = true;
});
process.stdin.resume();

try {
  const node = { id, labels: {} };
  const tables = [ledgerTables];
  const store = await openPostgres({ address: readPostgresAddress(address), tables, node });
  const ledger = await Ledger.open({
    ...{ store, signers: new KeyFolder(keys), newOrigin: () => "reins/nodes" },
    onCheckpoint: (note) => say({ size: Number(note.split("\n")[1]) }),
    onCheckpointError: (error) => say({ fault: String(error) }),
  });
  say("open");
  const write = async (entity_id: string, quality: "turn" | "tool_call" | "policy_verdict") => {
    for (let n = 0; !ended; n += 1) {
      const common = { actor: `${id}-agent`, target: "bash", entity_id };
      try {
        const { entries } = await ledger.record([{ ...common, quality, payload: { n } }]);
        // The second entry names the first, which has its content id before it has its place.
        const verdict = entries[0]?.cid;
        say({ cids: [verdict] });
        const result = { ...common, quality: "tool_result", payload: { n, verdict } } as const;
        const { entries: next } = await ledger.record([result]);
        say({ cids: [next[0]?.cid] });
      } catch (error) {
        if (!(error instanceof StoreError && error.retryable)) throw error;
        await sleep(50);
      }
    }
  };
  await Promise.all([
    write(`${id}:acp:1`, "turn"),
    write(`${id}:acp:2`, "policy_verdict"),
    write("all:acp:1", "tool_call"),
    write("all:acp:1", "turn"),
  ]);
  await ledger.close();
  await store.close();
} catch (error) {
  if (!(error instanceof StoreError)) throw error;
  say({ code: error.code, message: error.message });
  process.exit();
}
