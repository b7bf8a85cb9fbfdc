import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { change, openSqlite } from "../src/index.ts";
import { Child } from "../test/child.ts";
import { expectRefusal } from "../test/contract/subject.ts";
import { notes } from "../test/tables/notes.ts";
import { temporaryFolder } from "../test/temporary-folder.ts";

describe("a database that is in use", () => {
  async function path(): Promise<string> {
    return join(await temporaryFolder(), "reins.db");
  }

  function start(script: "reader" | "writer", at: string): Child {
    const child = Child.start(new URL(`./children/${script}.ts`, import.meta.url), [at]);
    onTestFinished(() => child.kill());
    return child;
  }

  it("cannot be opened for writing again in the same process, and can when it was closed", async () => {
    const at = await path();
    const store = await openSqlite({ path: at, tables: [notes] });
    await expectRefusal(openSqlite({ path: at, tables: [notes] }), "locked", `${at}: in use`);
    expect(await store.commit([change(notes, "add", { id: "a", text: "" })])).toEqual([1]);
    await store.close();
    const again = await openSqlite({ path: at, tables: [notes] });
    expect(await again.query(notes, "ids", null)).toEqual(["a"]);
    await again.close();
  });

  it.skipIf(process.platform === "win32")("has no file that other users can read", async () => {
    const at = await path();
    const store = await openSqlite({ path: at, tables: [notes] });
    await store.commit([change(notes, "add", { id: "a", text: "" })]);
    const names = await readdir(dirname(at));
    expect(names).toEqual(expect.arrayContaining(["reins.db", "reins.db.lock", "reins.db-wal"]));
    for (const name of names) {
      const { mode } = await stat(join(dirname(at), name));
      expect([name, mode & 0o077]).toEqual([name, 0]);
    }
    await store.close();
  });

  it("cannot be opened for writing by another process, which gets an error", async () => {
    const at = await path();
    const store = await openSqlite({ path: at, tables: [notes] });
    const child = start("writer", at);
    expect(await child.next()).toEqual({
      code: "locked",
      message: `${at}: in use by another process; stop it first, or open the database for reading only`,
    });
    await child.end();
    await store.close();
    const next = start("writer", at);
    expect(await next.next()).toBe("open");
    await expectRefusal(openSqlite({ path: at, tables: [notes] }), "locked");
  });

  it("is free again at once when the process that wrote to it is killed, and holds what was acknowledged", async () => {
    const at = await path();
    const child = start("writer", at);
    expect(await child.next()).toBe("open");
    for (let told = 0; told < 20; told += 1) await child.next();
    await child.kill();
    const told = [...Array(20).keys(), ...(await Array.fromAsync(child))];
    const store = await openSqlite({ path: at, tables: [notes] });
    const ids = await store.query(notes, "ids", null);
    expect([told.length, told.length + 1]).toContain(ids.length);
    await store.close();
  });

  it("can be read by other processes all the while", async () => {
    const at = await path();
    const store = await openSqlite({ path: at, tables: [notes] });
    const add = (id: string) => store.commit([change(notes, "add", { id, text: "" })], { durable: false });
    await add("a");
    const readers = [start("reader", at), start("reader", at)];
    for (const reader of readers) expect(await reader.next()).toBe(1);
    for (let round = 2; round < 20; round += 1) {
      await add(`${round}`);
      for (const reader of readers) {
        reader.ask();
        expect(await reader.next()).toBe(round);
      }
    }
    for (const reader of readers) await reader.end();
    await store.close();
  });
});
