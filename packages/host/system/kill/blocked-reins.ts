// Plays Reins: runs some agents under the name of one, says so, is blocked until a file is there, then says what the ledger has.
import { existsSync, readFileSync, writeSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import type { Launch } from "@reins/runner";
import { AgentProcess, Owner } from "@reins/runner";
import { openSqlite } from "@reins/store";
import { Harness, harnessTables, writeFirstFiles } from "@reins/supervisor";
import { Hosting } from "../../src/hosting/hosting.ts";
import { hostTables } from "../../src/hosting/tables.ts";

/** What it is to do. */
export interface BlockedOrder {
  readonly home: string;
  readonly launches: readonly Launch[];
  /** It is blocked until this is there. */
  readonly go: string;
}

const { home, launches, go }: BlockedOrder = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
await mkdir(home, { recursive: true, mode: 0o700 });
await writeFirstFiles(home);
const tables = [ledgerTables, ...harnessTables, ...hostTables];
const store = await openSqlite({ path: join(home, "reins.db"), tables });
const signers = new KeyFolder(join(home, "keys"));
const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/test" });
const harness = await Harness.open({ home, userHome: home, store, ledger });
const install = async () => ({ version: "1.0.0", folder: home });
const { register } = await Hosting.open({ harness, install, environment: {}, killSocket: true });
const owner = new Owner(home);
for (const launch of launches) {
  const agent = await AgentProcess.start(launch, { owner, onFault: () => undefined });
  agent.onMessage(() => undefined);
  const found = { agent: "tree", tenant: "default", principal: "local", confined: false };
  const id = register.add({ ...found, started_at: new Date().toISOString() }, agent);
  register.hold(id, [`session-${agent.pid}`]);
}
process.stdin.resume();
process.stdin.once("data", () => void block());
process.stdout.write("ready\n");

async function block(): Promise<void> {
  const never = new Int32Array(new SharedArrayBuffer(4));
  // Written at once, because nothing is written later.
  writeSync(1, "blocked\n");
  while (!existsSync(go)) Atomics.wait(never, 0, 0, 20);
  for (;;) {
    const [kill] = await ledger.read({ quality: "kill" });
    if (kill) {
      process.stdout.write(`${JSON.stringify(kill.entry)}\n`);
      return;
    }
    await sleep(20);
  }
}
