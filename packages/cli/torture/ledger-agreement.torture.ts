import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportLines, KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite } from "@reins/store";
import { verifyExport } from "@reins/verify";
import { seededRandom } from "../../../scripts/torture/random.ts";
import type { Torture } from "../../../scripts/torture/torture.ts";
import { randomDraft } from "./random-draft.ts";

const PIECE = 500;

export default {
  name: "ledger-agreement",
  title: "What the ledger writes, the verifier accepts: random entries, compared in full",
  async run({ seed, scale, signal, log }) {
    const random = seededRandom(seed);
    const count = scale === "full" ? 1_000_000 : 3_000;
    const home = await mkdtemp(join(tmpdir(), "ledger-agreement-"));
    const store = await openSqlite({ path: join(home, "reins.db"), tables: [ledgerTables] });
    try {
      const signers = new KeyFolder(join(home, "keys"));
      const ledger = await Ledger.open({ store, signers, newOrigin: () => `reins/${seed}` });
      for (let done = 0; done < count; done += PIECE) {
        signal.throwIfAborted();
        await ledger.record(
          Array.from({ length: PIECE }, () => randomDraft(random)),
          { durable: false },
        );
        if (done % 100_000 === 0) log(`${done} entries written`);
      }
      const report = await verifyExport(exportLines(ledger), { logKey: ledger.logKey, signal });
      log(`${report.entries} entries verified, ${report.signatures} signatures`);
      if (!report.ok) throw new Error(`the verifier objects: ${JSON.stringify(report.faults.slice(0, 3))}`);
      if (report.entries !== (await ledger.size()))
        throw new Error(`${report.entries} entries were verified`);
      await ledger.close();
    } finally {
      await store.close();
      await rm(home, { recursive: true, force: true });
    }
  },
} satisfies Torture;
