import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { change, openSqlite, openSqliteReader } from "../src/index.ts";
import { expectRefusal } from "../test/contract/subject.ts";
import { growing } from "../test/tables/growing.ts";
import { notes } from "../test/tables/notes.ts";
import { temporaryFolder } from "../test/temporary-folder.ts";

describe("a reader", () => {
  async function written() {
    const path = join(await temporaryFolder(), "reins.db");
    const store = await openSqlite({ path, tables: [notes, growing(1)] });
    await store.commit([change(notes, "add", { id: "a", text: "" })]);
    return { path, store };
  }

  it("reads beside the writer and without it, and cannot write", async () => {
    const { path, store } = await written();
    const reader = await openSqliteReader(path, [notes]);
    expect(await reader.query(notes, "ids", null)).toEqual(["a"]);
    await store.commit([change(notes, "add", { id: "b", text: "" })]);
    expect(await reader.query(notes, "ids", null)).toEqual(["a", "b"]);
    await store.close();
    expect(await reader.query(notes, "ids", null)).toEqual(["a", "b"]);
    await expectRefusal(reader.query(notes, "write", null), "io", "cannot be written to");
    await Promise.all([reader.close(), reader.close()]);
    await expectRefusal(reader.query(notes, "ids", null), "closed");
    const late = await openSqliteReader(path, [notes]);
    expect(await late.query(notes, "ids", null)).toEqual(["a", "b"]);
    await late.close();
  });

  it("copies the database while a writer continues", async () => {
    const { path, store } = await written();
    await store.commit([change(notes, "keepBytes", { id: "big", bytes: new Uint8Array(10_000_000) })]);
    let done = false;
    const write = async (_: unknown, producer: number) => {
      for (let round = 0; !done; round += 1)
        await store.commit([change(notes, "add", { id: `${producer} ${round}`, text: "" })], {
          durable: false,
        });
    };
    const writing = Promise.all(Array.from({ length: 50 }, write));
    const reader = await openSqliteReader(path, [notes]);
    await reader.backup(`${path}.copy`);
    done = true;
    await writing;
    const copy = await openSqliteReader(`${path}.copy`, [notes]);
    expect(await copy.query(notes, "bytes", { id: "big" })).toHaveLength(10_000_000);
    const ids = (await copy.query(notes, "ids", null)).filter((id) => id.startsWith("7 "));
    expect(ids).toEqual(ids.map((_, round) => `7 ${round}`));
    await Promise.all([copy.close(), reader.close(), store.close()]);
  });

  it("refuses a database that is not of its program's version, and says what to do", async () => {
    const { path, store } = await written();
    await expectRefusal(openSqliteReader(path, [growing(2)]), "older", "open the database for writing once");
    await expectRefusal(openSqliteReader(path, [growing(0)]), "newer", "update it");
    await store.close();
  });

  it("refuses what is not there, and does not make it", async () => {
    const path = join(await temporaryFolder(), "reins.db");
    await expectRefusal(openSqliteReader(path, [notes]), "io", `${path}: the database cannot be opened`);
    await expectRefusal(openSqliteReader(path, [notes]), "io");
  });

  it.each(["reader", "writer"] as const)(
    "and a writer refuse a file that is not a database: %s",
    async (role) => {
      const path = join(await temporaryFolder(), "reins.db");
      await writeFile(path, "This is a letter, not a database. ".repeat(500));
      const open =
        role === "reader" ? openSqliteReader(path, [notes]) : openSqlite({ path, tables: [notes] });
      await expectRefusal(open, "corrupt", "restore a backup");
    },
  );

  it("and a writer say which folder is missing", async () => {
    const path = join(await temporaryFolder(), "nowhere", "reins.db");
    await expectRefusal(openSqliteReader(path, [notes]), "invalid", `${path}: .*directory does not exist`);
    await expectRefusal(
      openSqlite({ path, tables: [notes] }),
      "invalid",
      `${path}: .*directory does not exist`,
    );
  });
});
