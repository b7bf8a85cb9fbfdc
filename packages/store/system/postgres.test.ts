import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { readPostgresAddress } from "../src/postgres/address.ts";
import { openPostgres, openPostgresReader, type PostgresOptions } from "../src/postgres/open.ts";
import { change } from "../src/sqlite/sqlite-store.ts";
import { describeStore } from "../test/contract/contract.ts";
import { expectRefusal } from "../test/contract/subject.ts";
import { PostgresServer, postgresFolder } from "../test/postgres-server.ts";
import { notes } from "../test/tables/notes.ts";

let server: PostgresServer;

const open = async (address: string, more: Partial<PostgresOptions> = {}) => {
  const store = await openPostgres({ address: readPostgresAddress(address), tables: [notes], ...more });
  onTestFinished(() => store.close());
  return store;
};
const add = (id: string) => change(notes, "add", { id, text: "" });

// Its packages are optional, one for each platform.
describe.skipIf(postgresFolder === undefined)("a store in PostgreSQL", () => {
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  describeStore("PostgreSQL", {
    copiesToFiles: false,
    async place() {
      const address = readPostgresAddress(server.address());
      return {
        open: (tables, { now, ...limits } = {}) =>
          openPostgres({ address, tables, limits, ...(now && { now }) }),
        openBackup: () => Promise.reject(new Error("PostgreSQL has backups of its own")),
        freePath: () => "",
        remove: async () => undefined,
      };
    },
  });

  it("has one writer at a time, and any number of readers", async () => {
    const address = server.address();
    const first = await open(address);
    await first.commit([add("a")]);
    await expectRefusal(open(address), "locked", "in use by another server");
    const reader = await openPostgresReader(readPostgresAddress(address), [notes]);
    expect(await reader.query(notes, "ids", null)).toEqual(["a"]);
    await reader.close();
    await first.close();
    expect(await (await open(address)).commit([add("b")])).toEqual([2]);
  });

  it("keeps the password out of what it says", async () => {
    const wrong = server.address().replace(server.password, "a-wrong-secret");
    const refused = await open(wrong).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: "StoreError", code: "unavailable" });
    expect(String(refused)).toContain("postgres://reins@127.0.0.1");
    expect(String(refused)).not.toContain("a-wrong-secret");
  });

  it("loses nothing that it acknowledged when the database is killed, says so, and goes on when it is back", async () => {
    const store = await open(server.address());
    const acknowledged: string[] = [];
    let round = 0;
    const write = async (until: () => boolean) => {
      while (!until()) {
        round += 1;
        const id = `${round}`;
        await store.commit([add(id)]).then(
          () => acknowledged.push(id),
          (error: unknown) => expect(error).toMatchObject({ code: "unavailable" }),
        );
      }
    };
    let isKilled = false;
    const writing = Promise.all([1, 2, 3, 4].map(() => write(() => isKilled)));
    await expect.poll(() => acknowledged.length).toBeGreaterThan(50);
    await server.kill();
    await expect.poll(() => store.outage).toContain("cannot be reached");
    isKilled = true;
    await server.resume();
    await expect.poll(() => store.outage, { timeout: 20_000 }).toBeUndefined();
    await writing;
    await store.commit([add("after")]);
    const ids = await store.query(notes, "ids", null);
    expect([...ids].toSorted()).toEqual([...acknowledged, "after"].toSorted());
  });
});
