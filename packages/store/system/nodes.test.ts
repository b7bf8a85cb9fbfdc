import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { nodeTables } from "../src/nodes.ts";
import { readPostgresAddress } from "../src/postgres/address.ts";
import { openPostgres, openPostgresReader } from "../src/postgres/open.ts";
import { change } from "../src/sqlite/sqlite-store.ts";
import type { Store } from "../src/store.ts";
import { Child } from "../test/child.ts";
import { describeStore } from "../test/contract/contract.ts";
import { expectRefusal } from "../test/contract/subject.ts";
import { PostgresServer, postgresFolder } from "../test/postgres-server.ts";
import { counters } from "../test/tables/counters.ts";
import { growing } from "../test/tables/growing.ts";
import { notes } from "../test/tables/notes.ts";

let server: PostgresServer;
const tables = [notes, counters, nodeTables];

const open = async (address: string, id?: string) => {
  const node = id === undefined ? {} : { node: { id, labels: {} } };
  const store = await openPostgres({ address: readPostgresAddress(address), tables, ...node });
  onTestFinished(() => store.close());
  return store;
};
const start = async (address: string, id: string) => {
  const child = Child.start(new URL("./children/node.ts", import.meta.url), [address, id]);
  onTestFinished(() => child.kill());
  expect(await child.next()).toBe("open");
  return child;
};
const nodesIn = async (store: Store) =>
  (await store.query(nodeTables, "list", null)).map(({ id, isAlive }) => [id, isAlive]);
/** What a child says until it has said so many numbers. */
const counted = async (child: Child, many: number) => {
  const totals: unknown[] = [];
  while (totals.length < many) totals.push(await child.next());
  return totals;
};

describe.skipIf(postgresFolder === undefined)("several nodes on one database", () => {
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  describeStore("PostgreSQL, of a node among others", {
    copiesToFiles: false,
    async place() {
      const address = readPostgresAddress(server.address());
      let count = 0;
      return {
        open(tables, { now, ...limits } = {}) {
          count += 1;
          const node = { id: `node ${count}`, labels: {} };
          return openPostgres({ address, tables, limits, node, ...(now && { now }) });
        },
        openBackup: () => Promise.reject(new Error("PostgreSQL has backups of its own")),
        freePath: () => "",
        remove: async () => undefined,
      };
    },
  });

  it("lose no change of each other, though tables read what they write next", async () => {
    const address = server.address();
    const children = await Promise.all(["a", "b", "c"].map((id) => start(address, id)));
    const first = await Promise.all(children.map((child) => counted(child, 100)));
    await Promise.all(children.map((child) => child.end()));
    const rest = await Promise.all(children.map((child) => Array.fromAsync(child)));
    const totals = [...first.flat(), ...rest.flat()].map(Number).toSorted((left, right) => left - right);
    expect(totals).toEqual(totals.map((_, index) => index + 1));
    const reader = await openPostgresReader(readPostgresAddress(address), tables);
    onTestFinished(() => reader.close());
    expect(await reader.query(counters, "total", { name: "all" })).toBe(totals.length);
    expect(await reader.query(notes, "ids", null)).toHaveLength(totals.length);
    expect(await reader.query(nodeTables, "list", null)).toMatchObject([
      { id: "a", isAlive: false, labels: { zone: "test" }, capacity: 3 },
      { id: "b", isAlive: false },
      { id: "c", isAlive: false },
    ]);
  });

  it("give a tenant to the one that has most of its agents, and else to the least busy", async () => {
    const address = server.address();
    const [busy] = await Promise.all([open(address, "busy"), open(address, "idle")]);
    for (const { id: node, claim } of await busy.query(nodeTables, "list", null)) {
      const isBusy = node === "busy";
      const state = { address: `${node}:1`, version: "1", sessions: isBusy ? 5 : 0 };
      const agents = isBusy ? ["claude", "codex"] : ["codex"];
      await busy.commit([change(nodeTables, "tell", { node, claim, state: { ...state, agents } })]);
    }
    const ownerOf = async (tenant: string, agents: readonly string[]) => {
      const [owner] = await busy.commit([change(nodeTables, "own", { tenant, agents })]);
      return owner?.node;
    };
    expect(await ownerOf("acme", ["claude", "codex", "native"])).toBe("busy");
    expect(await ownerOf("other", ["codex", "native"])).toBe("idle");
    expect(await ownerOf("third", ["native"])).toBe("idle");
    // It stays where it is.
    expect(await ownerOf("third", ["claude"])).toBe("idle");
  });

  it("of an older version go on beside one that migrated, and cannot start again", async () => {
    const address = server.address();
    const openVersion = async (version: number, id: string) => {
      const all = [...tables, growing(version)];
      const node = { id, labels: {} };
      const store = await openPostgres({ address: readPostgresAddress(address), tables: all, node });
      onTestFinished(() => store.close());
      return store;
    };
    const older = await openVersion(1, "older");
    expect(await older.commit([change(counters, "raise", { name: "all" })])).toEqual([1]);
    const newer = await openVersion(2, "newer");
    expect(await newer.query(growing(2), "steps", null)).toEqual([1, 2]);
    expect(await older.commit([change(counters, "raise", { name: "all" })])).toEqual([2]);
    expect(await newer.commit([change(counters, "raise", { name: "all" })])).toEqual([3]);
    expect(await older.query(growing(1), "steps", null)).toEqual([1, 2]);
    const lease = await older.claim("session", "older", 5_000);
    expect(await newer.claim("session", "newer", 5_000)).toBeUndefined();
    if (lease) await older.release(lease);
    expect(await newer.claim("session", "newer", 5_000)).toBeDefined();
    expect(await nodesIn(newer)).toEqual([
      ["newer", true],
      ["older", true],
    ]);
    await older.close();
    await expectRefusal(openVersion(1, "older"), "newer", "this program knows 1; update it");
    expect(await newer.commit([change(counters, "raise", { name: "all" })])).toEqual([4]);
  });

  it("are notified when a tenant is given up, and of no change of the others' sessions", async () => {
    const address = server.address();
    const [one, other] = await Promise.all([open(address, "one"), open(address, "other")]);
    let notices = 0;
    other.watch?.(nodeTables, () => {
      notices += 1;
    });
    const claim = (await one.query(nodeTables, "list", null)).find(({ id }) => id === "one")?.claim ?? "";
    for (const sessions of [1, 2, 3]) {
      const state = { address: "one:1", version: "1", sessions, agents: [] };
      await one.commit([change(nodeTables, "tell", { node: "one", claim, state })]);
    }
    await one.commit([change(nodeTables, "own", { tenant: "acme" })]);
    await one.commit([change(nodeTables, "disown", { tenant: "acme", node: "one", claim })]);
    // They arrive in the order of the transactions.
    await expect.poll(() => notices).toBe(1);
  });

  it("wait for each other only where they change the same, and never for good", async () => {
    const address = server.address();
    const [one, other] = await Promise.all([open(address, "one"), open(address, "other")]);
    const both = (store: Store, names: readonly [string, string]) =>
      Promise.all(
        Array.from({ length: 50 }, () => Promise.all(names.map((name) => store.claim(name, name, 1_000)))),
      );
    await Promise.all([both(one, ["x", "y"]), both(other, ["y", "x"])]);
    // Of every claim the epoch counts.
    expect(await one.claim("x", "x", 1_000)).toMatchObject({ epoch: 101 });
    expect(await other.claim("y", "y", 1_000)).toMatchObject({ epoch: 101 });
  });

  it("give a lease to one of many nodes that claim it at once, and refuse what the others write under an older one", async () => {
    const address = server.address();
    const stores = await Promise.all(["a", "b", "c"].map((id) => open(address, id)));
    const claims = await Promise.all(stores.map((store, at) => store.claim("session", `owner ${at}`, 2_000)));
    const [lease] = claims.filter((claim) => claim !== undefined);
    expect(claims.filter(Boolean)).toHaveLength(1);
    if (!lease) return;
    const [first, next] = stores;
    const add = (store: Store | undefined, id: string) =>
      store?.commit([change(notes, "add", { id, text: "" })], { lease });
    await add(first, "in time");
    await expect.poll(() => next?.claim("session", "another", 1_000)).toBeDefined();
    await expectRefusal(Promise.resolve(add(first, "late")), "fenced", '"session"');
    expect(await first?.query(notes, "ids", null)).toEqual(["in time"]);
  });

  it("keep out a server that wants the database to itself, and are kept out by it", async () => {
    const address = server.address();
    const alone = await open(address);
    await alone.commit([change(counters, "raise", { name: "all" })]);
    await expectRefusal(open(address, "a"), "locked", "in use by another server");
    await alone.close();
    const [a, b] = await Promise.all([open(address, "a"), open(address, "b")]);
    expect(await nodesIn(a)).toEqual([
      ["a", true],
      ["b", true],
    ]);
    await expectRefusal(open(address), "locked", "in use by another server");
    await expectRefusal(open(address, "a"), "locked", "another server is this node");
    await a.close();
    await expectRefusal(open(address), "locked", "in use by another server");
    await b.close();
    expect(await (await open(address)).commit([change(counters, "raise", { name: "all" })])).toEqual([2]);
  });

  it("go on when one is killed, which can be started again at once", async () => {
    const address = server.address();
    const [killed, other] = await Promise.all([start(address, "killed"), start(address, "other")]);
    await counted(killed, 20);
    await killed.kill();
    const told = await Array.fromAsync(killed);
    await counted(other, 50);
    const again = await start(address, "killed");
    await counted(again, 20);
    await Promise.all([other.end(), again.end()]);
    const store = await open(address, "third");
    // One more where it was killed between the end of the transaction and its answer.
    const total = await store.query(counters, "total", { name: "all" });
    expect(await store.query(notes, "ids", null)).toHaveLength(total);
    expect(total).toBeGreaterThanOrEqual(90 + told.length);
  });

  it("have the database refuse what one writes that stopped, and was declared dead", async () => {
    const address = server.address();
    const [stopped, other] = await Promise.all([start(address, "stopped"), open(address, "other")]);
    await counted(stopped, 20);
    stopped.pause();
    // It may have stopped in a transaction, which the database ends.
    await expect
      .poll(() => nodesIn(other), { timeout: 30_000 })
      .toEqual([
        ["other", true],
        ["stopped", false],
      ]);
    await expect
      .poll(() => server.first("SELECT owner FROM store_nodes WHERE id = 'stopped'", address), {
        timeout: 30_000,
      })
      .toEqual({ owner: "" });
    const [before] = await other.commit([change(counters, "raise", { name: "all" })]);
    stopped.proceed();
    const said = await Array.fromAsync(stopped);
    expect(said.at(-1)).toMatchObject({
      code: "io",
      message: expect.stringContaining("has lost the database"),
    });
    // What it says after it went on was kept before it stopped.
    for (const total of said.slice(0, -1)) expect(total).toBeLessThan(Number(before));
    expect(await other.commit([change(counters, "raise", { name: "all" })])).toEqual([Number(before) + 1]);
  });
});
