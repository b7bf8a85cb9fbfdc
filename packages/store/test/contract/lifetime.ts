import { describe, expect, it } from "vitest";
import { change } from "../../src/sqlite/sqlite-store.ts";
import { growing } from "../tables/growing.ts";
import { notes } from "../tables/notes.ts";
import { tally } from "../tables/tally.ts";
import { expectRefusal, placeFor, type StoreSubject, storeFor } from "./subject.ts";

/** Opening, migrating, closing, copying. */
export function describeLifetime(subject: StoreSubject): void {
  describe("closing", () => {
    it("finishes what waits, and refuses what comes later", async () => {
      const place = await placeFor(subject);
      const store = await place.open([notes]);
      const add = (id: string) => store.commit([change(notes, "add", { id, text: "" })], { durable: false });
      const waiting = Array.from({ length: 5_000 }, (_, index) => add(`${index}`));
      const asked = store.query(notes, "ids", null);
      const closing = store.close();
      await expectRefusal(add("late"), "closed");
      await expectRefusal(store.query(notes, "ids", null), "closed");
      await expectRefusal(store.claim("session", "here", 500), "closed");
      await expectRefusal(store.backup(place.freePath()), "closed");
      expect(await Promise.all(waiting)).toHaveLength(5_000);
      expect(await asked).toBeInstanceOf(Array);
      await closing;
      await expectRefusal(add("later"), "closed");
      const again = await place.open([notes]);
      expect(await again.query(notes, "ids", null)).toHaveLength(5_000);
    });

    it("may be asked for twice", async () => {
      const store = await storeFor(subject, [notes]);
      await Promise.all([store.close(), store.close()]);
      await store.close();
    });
  });

  describe("opening", () => {
    it("brings tables up to date, each migration once and in order", async () => {
      const place = await placeFor(subject);
      for (const [version, steps] of [
        [1, [1]],
        [1, [1]],
        [2, [1, 2]],
        [2, [1, 2]],
      ] as const) {
        const store = await place.open([growing(version)]);
        expect(await store.query(growing(version), "steps", null)).toEqual(steps);
        await store.close();
      }
    });

    it("refuses tables of a newer version and leaves them as they are", async () => {
      const place = await placeFor(subject);
      await (await place.open([growing(2)])).close();
      await expectRefusal(place.open([notes, growing(1)]), "newer", '"growing" are of version 2');
      const store = await place.open([growing(2)]);
      expect(await store.query(growing(2), "steps", null)).toEqual([1, 2]);
    });

    it("leaves nothing of a migration that fails, nor of those with it", async () => {
      const place = await placeFor(subject);
      await (await place.open([growing(1)])).close();
      await expectRefusal(place.open([notes, growing(3)]), "invalid", "growing_nowhere");
      const store = await place.open([notes, growing(1)]);
      expect(await store.query(growing(1), "steps", null)).toEqual([1]);
      expect(await store.commit([change(notes, "add", { id: "a", text: "" })])).toEqual([1]);
    });

    it("accepts tables that were left out for a while", async () => {
      const place = await placeFor(subject);
      const first = await place.open([notes, tally]);
      await first.commit([change(tally, "raise", { name: "x", by: 2 })]);
      await first.close();
      await (await place.open([notes])).close();
      const again = await place.open([tally, notes]);
      expect(await again.commit([change(tally, "raise", { name: "x", by: 1 })])).toEqual([3]);
    });

    it("refuses two tables of the same name", async () => {
      const place = await placeFor(subject);
      await expectRefusal(place.open([notes, tally, notes]), "invalid", '"notes"');
    });

    it("says which tables' code cannot be loaded", async () => {
      const place = await placeFor(subject);
      const missing = { ...notes, module: new URL("./missing.tables.ts", notes.module) };
      await expectRefusal(place.open([missing]), "invalid", "missing.tables");
    });
  });

  if (subject.copiesToFiles) describeBackups(subject);
  else
    it("refuses a backup, and says by which means to make one", async () => {
      const store = await storeFor(subject, [notes]);
      await expectRefusal(store.backup("copy.db"), "invalid", "pg_dump");
    });
}

function describeBackups(subject: StoreSubject): void {
  describe("a backup", () => {
    it("holds everything that had settled, and whole commits only, while writes continue", async () => {
      const place = await placeFor(subject);
      const store = await place.open([notes, tally]);
      const text = "long enough to need many pages ".repeat(40);
      const add = (id: string) =>
        store.commit([change(notes, "add", { id, text }), change(tally, "raise", { name: "x", by: 1 })], {
          durable: false,
        });
      await Promise.all(Array.from({ length: 2_000 }, (_, index) => add(`before ${index}`)));
      let done = false;
      const write = async () => {
        for (let round = 0; !done; round += 1) await add(`during ${round}`);
      };
      const writing = write();
      const path = place.freePath();
      await store.backup(path);
      done = true;
      await writing;
      const copy = await place.openBackup(path, [notes, tally]);
      const ids = await copy.query(notes, "ids", null);
      expect(ids.length).toBeGreaterThanOrEqual(2_000);
      expect(await copy.query(tally, "total", { name: "x" })).toBe(ids.length);
      expect(ids.slice(2_000)).toEqual(ids.slice(2_000).map((_, index) => `during ${index}`));
      expect(await copy.commit([change(tally, "raise", { name: "x", by: 1 })])).toEqual([ids.length + 1]);
    });

    it("is given up when the store is closed, and nothing has its name", async () => {
      const place = await placeFor(subject);
      const store = await place.open([notes]);
      await store.commit([change(notes, "keepBytes", { id: "a", bytes: new Uint8Array(20_000_000) })]);
      const path = place.freePath();
      const backup = store.backup(path);
      const closing = store.close();
      await expectRefusal(backup, "closed");
      await closing;
      const again = await place.open([notes]);
      await again.backup(path);
      expect(await (await place.openBackup(path, [notes])).query(notes, "bytes", { id: "a" })).toHaveLength(
        20_000_000,
      );
    });

    it("is there if and only if its caller got success, however soon the store is closed", async () => {
      const place = await placeFor(subject);
      for (let turns = 0; turns < 8; turns += 1) {
        const store = await place.open([notes]);
        const path = place.freePath();
        const backup = Promise.allSettled([store.backup(path)]);
        for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
        await store.close();
        const [{ status }] = await backup;
        const again = await place.open([notes]);
        if (status === "fulfilled") await expectRefusal(again.backup(path), "invalid", path);
        else await again.backup(path);
        expect(await (await place.openBackup(path, [notes])).query(notes, "ids", null)).toEqual([]);
        await again.close();
      }
    });

    it("does not overwrite what is there, nor what is about to be", async () => {
      const place = await placeFor(subject);
      const store = await place.open([notes]);
      const path = place.freePath();
      const [first, second] = await Promise.allSettled([store.backup(path), store.backup(path)]);
      expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
      await expectRefusal(store.backup(path), "invalid", path);
      expect(await (await place.openBackup(path, [notes])).query(notes, "ids", null)).toEqual([]);
    });
  });
}
