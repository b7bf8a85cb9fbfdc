import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { KeyFolder, ledgerTables } from "@reins/ledger";
import { change } from "@reins/store";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import torture from "../torture/cluster.torture.ts";
import { beginLedger, hasMember, LedgerNode, openLedger, verifiedLedger } from "./support/ledger-nodes.ts";
import { folder } from "./support/reins.ts";

let server: PostgresServer;

async function open(address: string, keys: string, id?: string) {
  const opened = await openLedger(address, keys, id);
  onTestFinished(() => opened.store.close());
  return opened;
}

/** Nodes as processes of their own, each with a copy of the keys with which the ledger was begun. */
async function startNodes(ids: readonly string[]) {
  const address = server.address();
  const keys = await beginLedger(address, await mkdtemp(join(folder, "nodes-")));
  const start = async (id: string) => {
    const node = await LedgerNode.start(address, id, keys);
    onTestFinished(() => node.child.kill());
    await expect.poll(() => node.said, { timeout: 60_000 }).toContain("open");
    return node;
  };
  const nodes = new Map<string, LedgerNode>();
  for (const id of ids) nodes.set(id, await start(id));
  return { address, keys, nodes, start };
}

/** The node that places entries. */
async function sequencerIn(address: string): Promise<string> {
  const row = await server.first("SELECT owner FROM leases WHERE name = 'ledger sequencer'", address);
  return hasMember(row, "owner") ? (String(row.owner).split(" ")[0] ?? "") : "";
}

/** The entries of a ledger, which has to verify, and to hold those that are wanted. */
async function verified(address: string, keys: string, wanted: readonly string[] = []) {
  const { report, entries, missing } = await verifiedLedger(address, keys, wanted);
  expect(report).toMatchObject({ ok: true, faults: [] });
  expect(missing).toEqual([]);
  return entries;
}

describe.skipIf(postgresFolder === undefined)("one ledger of several nodes", { timeout: 120_000 }, () => {
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  it("has every entry once that was acknowledged to three processes, and verifies", async () => {
    const { address, keys, nodes } = await startNodes(["a", "b", "c"]);
    for (const node of nodes.values())
      await expect.poll(() => node.cids.length, { timeout: 60_000 }).toBeGreaterThan(200);
    for (const node of nodes.values()) await node.end();
    const kept = [...nodes.values()].flatMap(({ cids }) => cids);
    const entries = await verified(address, keys, kept);
    const common = entries.filter(({ entity_id }) => entity_id === "all:acp:1");
    expect(new Set(common.map(({ actor }) => actor)).size).toBe(3);
    // Each closed only when a checkpoint covered what it wrote.
    for (const node of nodes.values()) expect(node.failure).toBeUndefined();
  });

  it("goes on when the sequencer is killed, and when the next one stops, which can then place and sign nothing", async () => {
    const { address, keys, nodes, start } = await startNodes(["a", "b", "c"]);
    const grow = async (node: LedgerNode | undefined) => {
      const { covered = 0 } = node ?? {};
      await expect.poll(() => node?.covered, { timeout: 60_000 }).toBeGreaterThan(covered + 50);
    };
    await expect.poll(() => sequencerIn(address)).not.toBe("");
    const killed = await sequencerIn(address);
    await grow(nodes.get(killed));
    await nodes.get(killed)?.child.kill();
    await expect.poll(() => sequencerIn(address), { timeout: 60_000 }).not.toBe(killed);
    const stopped = await sequencerIn(address);
    await grow(nodes.get(stopped));
    nodes.get(stopped)?.child.pause();
    const [left = ""] = [...nodes.keys()].filter((id) => id !== killed && id !== stopped);
    await expect.poll(() => sequencerIn(address), { timeout: 60_000 }).toBe(left);
    await grow(nodes.get(left));
    nodes.get(stopped)?.child.proceed();
    await grow(nodes.get(left));
    const again = await start(killed);
    await grow(again);
    const all = [...nodes.values(), again];
    for (const node of all) await node.end();
    const kept = all.flatMap(({ cids }) => cids);
    expect((await verified(address, keys, kept)).length).toBeGreaterThan(kept.length);
  });

  it("takes no place and no checkpoint under a lease that has passed on", async () => {
    const { address, keys } = await startNodes([]);
    const { store, ledger } = await open(address, keys, "a");
    const record = (payload: number) =>
      ledger.record([{ quality: "tool_call", actor: "reed", target: "bash", entity_id: "one", payload }]);
    await record(1);
    const { size } = await ledger.checkpoint();
    await expect.poll(() => store.claim("ledger sequencer", "later", 60_000)).toBeDefined();
    const lease = await store.claim("ledger sequencer", "later", 60_000);
    if (!lease) throw new Error("the lease is its own");
    await record(2);
    const { privateKey } = await new KeyFolder(keys).logSigner();
    const place = change(ledgerTables, "place", { limit: 10 });
    const sign = change(ledgerTables, "checkpoint", { privateKey });
    const stale = { ...lease, epoch: lease.epoch - 1 };
    for (const changes of [[place], [sign], [place, sign]])
      await expect(store.commit(changes, { lease: stale })).rejects.toMatchObject({ code: "fenced" });
    expect(await store.query(ledgerTables, "progress", null)).toMatchObject({ size, checkpoint: { size } });
    expect(await store.commit([place, sign], { lease })).toMatchObject([1, expect.any(String)]);
    await store.close();
  });

  it("is placed by a server that then has the database to itself", async () => {
    const { address, keys } = await startNodes([]);
    const node = await open(address, keys, "a");
    const { entries } = await node.ledger.record([
      { quality: "turn", actor: "reed", target: "one", entity_id: "one", payload: 1 },
    ]);
    // Before its sequencer had the time to place it.
    await node.store.close();
    const alone = await open(address, keys);
    const [placed] = await alone.ledger.read({ entity_id: "one" });
    expect(placed?.entry.cid).toBe(entries[0]?.cid);
    const { entries: next } = await alone.ledger.record([
      { quality: "turn", actor: "reed", target: "one", entity_id: "one", payload: 2 },
    ]);
    expect(next[0]?.parents).toEqual([entries[0]?.cid]);
    await alone.ledger.close();
    await alone.store.close();
    const again = await open(address, keys, "b");
    const { entries: last } = await again.ledger.record([
      { quality: "turn", actor: "reed", target: "one", entity_id: "one", payload: 3 },
    ]);
    expect(last[0]?.parents).toEqual([next[0]?.cid]);
    expect((await again.ledger.get(last[0]?.cid ?? ""))?.seq).toBeGreaterThan(placed?.seq ?? 0);
    await again.ledger.close();
    await again.store.close();
    expect((await verified(address, keys)).length).toBeGreaterThan(4);
  });

  it("loses nothing while nodes and the database are killed", async ({ signal }) => {
    await torture.run({ seed: 20_261_118, scale: "small", signal, log: () => undefined });
  });
});
