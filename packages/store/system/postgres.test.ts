import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { readPostgresAddress } from "../src/postgres/address.ts";
import { copyStore, type StoreLocation } from "../src/postgres/copy.ts";
import { openPostgres, openPostgresReader, type PostgresOptions } from "../src/postgres/open.ts";
import { openSqlite } from "../src/sqlite/open.ts";
import { change } from "../src/sqlite/sqlite-store.ts";
import { describeStore } from "../test/contract/contract.ts";
import { expectRefusal } from "../test/contract/subject.ts";
import { PostgresServer, postgresFolder } from "../test/postgres-server.ts";
import { notes } from "../test/tables/notes.ts";
import { numbered } from "../test/tables/numbered.ts";
import { temporaryFolder } from "../test/temporary-folder.ts";

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

  it("refuses with the reason where it may not write, or has no time to", async () => {
    await server.run(
      "CREATE ROLE reader LOGIN PASSWORD 'r'; ALTER ROLE reader SET default_transaction_read_only = on",
    );
    await server.run(
      "CREATE ROLE hurried LOGIN PASSWORD 'h'; GRANT CREATE ON DATABASE postgres TO hurried, reader",
    );
    const as = (user: string) => server.address().replace(/reins:[^@]+@/, `${user}:${user[0]}@`);
    await expectRefusal(open(as("reader")), "unavailable", "read-only");
    const store = await open(as("hurried"));
    await store.commit([add("a")]);
    await store.close();
    await server.run("ALTER ROLE hurried SET statement_timeout = '1ms'");
    const schema = as("hurried");
    await expectRefusal(open(schema), "unavailable", "timeout");
    await server.run("CREATE ROLE poor LOGIN PASSWORD 'p'");
    await expectRefusal(open(as("poor")), "unavailable", "lacks a right");
    await expectRefusal(
      open(server.address().replace("/postgres?", "/nowhere?")),
      "unavailable",
      "no such database",
    );
    await expectRefusal(open(server.address("x", 1)), "unavailable", "cannot be reached");
  });

  it("encrypts the connection, and checks whom it speaks to", async () => {
    const secure = await PostgresServer.start({ tls: true });
    onTestFinished(() => secure.stop());
    const at = (mode: string) => open(`${secure.address()}&${mode}`);
    await expectRefusal(at("sslmode=disable"), "unavailable", "no encryption");
    await expectRefusal(at("sslmode=verify-full"), "unavailable", "self-signed");
    await expectRefusal(at("sslmode=verify-ca"), "unavailable", "self-signed");
    const ca = `sslrootcert=${encodeURIComponent(secure.certificate)}`;
    expect(await (await at(`sslmode=verify-full&${ca}`)).commit([add("a")])).toEqual([1]);
    expect(await (await at("sslmode=require")).commit([add("a")])).toEqual([1]);
    const named = secure.address().replace("127.0.0.1", "localhost");
    await expectRefusal(open(`${named}&sslmode=verify-full&${ca}`), "unavailable", "not (match|cert)|is not");
    expect(await (await open(`${named}&sslmode=verify-ca&${ca}`)).commit([add("a")])).toEqual([1]);
    await expectRefusal(open(`${server.address()}&sslmode=require`), "unavailable", "SSL");
    expect(() => readPostgresAddress(`${secure.address()}&sslmode=verify-ca&sslrootcert=none.pem`)).toThrow(
      "certificate that cannot be read",
    );
  });

  it("quotes nothing of an address that it cannot read", () => {
    const wrong = [
      "postgres://u:12?secret@h/db",
      "postgres://u:12/secret@h/db",
      "postgres://u:se%cret@h/db",
      "postgres://u:12#secret@h/db",
      "postgres://u:p@h/db?secret=1",
      "postgres://u:p@h/db?sslmode=secret",
      "postgres://u:p@h/db?schema=secret!",
      "postgres://u:p@h/",
      "mysql://u:secret@h/db",
    ];
    for (const text of wrong) {
      expect(() => readPostgresAddress(text), text).toThrow(/^the address of the store/);
      expect(() => readPostgresAddress(text), text).not.toThrow(/secret|se%cret/);
    }
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

  describe("copying", () => {
    const tables = [notes, numbered];
    const at = (location: StoreLocation) =>
      "path" in location
        ? openSqlite({ path: location.path, tables })
        : openPostgres({ address: location.address, tables });
    const copy = async (from: StoreLocation, to: StoreLocation) => {
      const copied = await copyStore({ from, to, tables });
      await copied.complete();
      return copied;
    };
    const fileIn = async (): Promise<StoreLocation> => ({ path: join(await temporaryFolder(), "one.db") });
    const schema = (): StoreLocation => ({ address: readPostgresAddress(server.address()) });
    const content = async (location: StoreLocation) => {
      const store = await at(location);
      try {
        const ids = await store.query(notes, "ids", null);
        const texts = await Promise.all(ids.map((id) => store.query(notes, "find", { id })));
        const bytes = await store.query(notes, "bytes", { id: "all" });
        return { texts, bytes: bytes && [...bytes], numbers: await store.query(numbered, "all", null) };
      } finally {
        await store.close();
      }
    };
    const fill = async (location: StoreLocation) => {
      const store = await at(location);
      await store.commit([
        ...Array.from({ length: 300 }, (_, n) =>
          change(notes, "add", { id: `${n}`, text: `\u{1F40E} 'x' "${n}"\n` }),
        ),
        change(notes, "keepBytes", { id: "all", bytes: Uint8Array.from({ length: 256 }, (_, n) => n) }),
        ...["ann", "bob", "cy"].map((user) => change(numbered, "add", user)),
        change(numbered, "removeLast", null),
      ]);
      await store.close();
    };

    it("moves everything to PostgreSQL and back, and goes on counting where it was", async () => {
      const [first, middle, last] = [await fileIn(), schema(), await fileIn()];
      await fill(first);
      const before = await content(first);
      expect(before.texts).toHaveLength(300);
      // 301 of the notes, 2 numbers, and the owners: one of the migration, and those of the rows.
      expect((await copy(first, middle)).rows).toBe(307);
      expect(await content(middle)).toEqual(before);
      await copy(middle, last);
      expect(await content(last)).toEqual(before);
      for (const location of [first, middle, last]) {
        const store = await at(location);
        expect(await store.commit([change(numbered, "add", "dee")])).toEqual([4]);
        await store.close();
      }
      const other = schema();
      await copy(middle, other);
      expect(await content(other)).toEqual(await content(last));
    });

    it("refuses a target that holds something, and a source that is in use", async () => {
      const [file, postgres] = [await fileIn(), schema()];
      await fill(file);
      await fill(postgres);
      await expectRefusal(copy(file, postgres), "invalid", "not empty");
      await expectRefusal(copy(postgres, file), "invalid", "already");
      await expectRefusal(copy(schema(), await fileIn()), "invalid", "no store");
      await expectRefusal(copy({ path: "/nowhere/one.db" }, schema()), "invalid", "no database");
      for (const location of [file, postgres]) {
        const store = await at(location);
        await expectRefusal(copy(location, schema()), "locked", "in use");
        expect((await copyStore({ from: location, to: await fileIn(), tables, inUse: true })).rows).toBe(307);
        await store.commit([change(notes, "add", { id: "after", text: "" })]);
        await store.close();
      }
    });

    it("leaves a target that is not completed closed to servers", async () => {
      const [file, target, address] = [await fileIn(), schema(), readPostgresAddress(server.address())];
      await fill(file);
      await copyStore({ from: file, to: target, tables });
      await expectRefusal(at(target), "invalid", "not completed");
      await expectRefusal(copy(target, { address }), "invalid", "not completed");
      const path = join(await temporaryFolder(), "two.db");
      await copyStore({ from: file, to: { path }, tables });
      expect(existsSync(path)).toBe(false);
    });

    it("says what PostgreSQL cannot hold, and leaves the target incomplete", async () => {
      const file = await fileIn();
      const store = await at(file);
      await store.commit([change(notes, "add", { id: "nul", text: "a\u0000b" })]);
      await store.close();
      await expectRefusal(copy(file, schema()), "invalid", "character U.0000");
    });
  });
});
