import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgres, openSqlite, readPostgresAddress, type Store } from "@reins/store";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { StoredMemory } from "../src/memory.ts";
import { memoryTables } from "../src/tables.ts";
import { memoryContract } from "../test/memory-contract.ts";

async function openStore(): Promise<{ store: Store; path: string }> {
  const folder = await mkdtemp(join(tmpdir(), "memory-"));
  const path = join(folder, "facts.db");
  const store = await openSqlite({ path, tables: [memoryTables] });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { store, path };
}

describe("a memory in the database", () => {
  memoryContract(async () => new StoredMemory({ store: (await openStore()).store, owner: "default" }));

  test("survives a restart", async () => {
    const { store, path } = await openStore();
    await new StoredMemory({ store, owner: "default" }).remember({
      content: "tests need a port",
      source: "a",
    });
    await store.close();
    const again = await openSqlite({ path, tables: [memoryTables] });
    onTestFinished(() => again.close());
    const found = await new StoredMemory({ store: again, owner: "default" }).recall({
      query: "port",
      limit: 1,
    });
    expect(found).toMatchObject([{ content: "tests need a port" }]);
  });

  test("is separate for each owner", async () => {
    const { store } = await openStore();
    const [ours, theirs] = ["ours", "theirs"].map((owner) => new StoredMemory({ store, owner }));
    const fact = await ours!.remember({ content: "our port is 1", source: "a" });
    expect(await theirs!.recall({ query: "port", limit: 5 })).toEqual([]);
    expect(await theirs!.forget(fact.id)).toBe(false);
    expect(await ours!.list(5)).toHaveLength(1);
  });

  test("asks the database no more for an owner without facts, until one is remembered", async () => {
    const { store } = await openStore();
    let asked = 0;
    const counted = {
      commit: store.commit.bind(store),
      query: ((...query: Parameters<Store["query"]>) => {
        asked += 1;
        return store.query(...query);
      }) as Store["query"],
    };
    const memories = [1, 2].map(() => new StoredMemory({ store: counted, owner: "default" }));
    const recall = () => Promise.all(memories.map((memory) => memory.recall({ query: "port", limit: 1 })));
    expect([await recall(), await recall(), asked]).toEqual([[[], []], [[], []], 1]);
    await memories[0]!.remember({ content: "tests need a port", source: "a" });
    for (const found of await recall()) expect(found).toMatchObject([{ content: "tests need a port" }]);
  });

  test("drops the oldest facts beyond its limit", async () => {
    const { store } = await openStore();
    const memory = new StoredMemory({ store, owner: "default", maxFacts: 3 });
    for (const number of [1, 2, 3, 4, 5]) await memory.remember({ content: `fact ${number}`, source: "a" });
    expect((await memory.list(10)).map(({ content }) => content)).toEqual(["fact 5", "fact 4", "fact 3"]);
    expect(await memory.recall({ query: "1", limit: 5 })).toEqual([]);
  });

  test("stores facts only after redaction", async () => {
    const { store } = await openStore();
    const redact = (content: string) => content.replace("hunter2", "[redacted]");
    const memory = new StoredMemory({ store, owner: "default", redact });
    await memory.remember({ content: "the password is hunter2", source: "a" });
    expect((await memory.recall({ query: "password", limit: 1 }))[0]?.content).toBe(
      "the password is [redacted]",
    );
    expect(await memory.recall({ query: "hunter2", limit: 1 })).toEqual([]);
  });
});

// Its packages are optional, one for each platform.
describe.skipIf(postgresFolder === undefined)("a memory in PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  memoryContract(async () => {
    const address = readPostgresAddress(server.address());
    const store = await openPostgres({ address, tables: [memoryTables] });
    onTestFinished(() => store.close());
    return new StoredMemory({ store, owner: "default" });
  });
});
