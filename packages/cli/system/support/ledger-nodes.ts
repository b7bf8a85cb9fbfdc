import { cp } from "node:fs/promises";
import { join } from "node:path";
import { exportLines, KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openPostgres, readPostgresAddress } from "@reins/store";
import { type Report, verifyExport } from "@reins/verify";
import { Child } from "../../../store/test/child.ts";

/** Opens the ledger of a database, as a node or alone. */
export async function openLedger(address: string, keys: string, id?: string) {
  const store = await openPostgres({
    ...{ address: readPostgresAddress(address), tables: [ledgerTables] },
    ...(id !== undefined && { node: { id, labels: {} } }),
  });
  const newOrigin = () => "reins/nodes";
  return { store, ledger: await Ledger.open({ store, signers: new KeyFolder(keys), newOrigin }) };
}

/** Begins a ledger in a folder with its keys. */
export async function beginLedger(address: string, folder: string): Promise<string> {
  const keys = join(folder, "keys");
  const { store, ledger } = await openLedger(address, keys);
  await ledger.close();
  await store.close();
  return keys;
}

/** A process that writes to a ledger as one of several nodes, and what it has said so far. */
export class LedgerNode {
  readonly child: Child;
  readonly said: unknown[] = [];
  /** Resolves when it has ended. */
  readonly over: Promise<void>;
  #isOver = false;

  private constructor(child: Child) {
    this.child = child;
    this.over = this.#listen();
  }

  /** Starts one with a copy of the keys with which the ledger was begun. */
  static async start(address: string, id: string, keys: string): Promise<LedgerNode> {
    const own = `${keys} of ${id}`;
    await cp(keys, own, { recursive: true, force: false });
    return new LedgerNode(Child.start(new URL("./ledger-node.ts", import.meta.url), [address, id, own]));
  }

  async #listen(): Promise<void> {
    for await (const something of this.child) this.said.push(something);
    this.#isOver = true;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The content ids that it was given when its commits were kept. */
  get cids(): string[] {
    return this.said.flatMap((one) => (hasMember(one, "cids") && Array.isArray(one.cids) ? one.cids : []));
  }

  /** How many entries the checkpoints cover that it has seen. */
  get covered(): number {
    return Math.max(0, ...this.said.map((one) => (hasMember(one, "size") ? Number(one.size) : 0)));
  }

  /** How it failed, if it did. */
  get failure(): unknown {
    return this.said.find((one) => hasMember(one, "code"));
  }

  /** Has it finish, and waits until it has. */
  async end(): Promise<void> {
    await this.child.end();
    await this.over;
  }
}

export function hasMember<Name extends string>(value: unknown, name: Name): value is Record<Name, unknown> {
  return typeof value === "object" && value !== null && name in value;
}

/** The report on a ledger as it is read beside the nodes, its entries, and those wanted that it does not have once. */
export async function verifiedLedger(address: string, keys: string, wanted: readonly string[]) {
  const { ledger, store } = await openLedger(address, keys);
  const lines = await Array.fromAsync(exportLines(ledger));
  await ledger.close();
  await store.close();
  const report: Report = await verifyExport(from(lines), { logKey: ledger.logKey });
  const records = lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind === "entry");
  const entries: { cid: string; entity_id: string; actor: string }[] = records.map(({ entry }) => entry);
  const times = new Map<string, number>();
  for (const { cid } of entries) times.set(cid, (times.get(cid) ?? 0) + 1);
  return { report, entries, missing: wanted.filter((cid) => times.get(cid) !== 1) };
}

async function* from(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}
