import { describe, expect, it } from "vitest";
import { change } from "../../src/sqlite/sqlite-store.ts";
import { notes } from "../tables/notes.ts";
import { type AnyTables, expectRefusal, type StoreSubject, storeFor } from "./subject.ts";

/** Queries: read only, up to date, of one moment. */
export function describeQueries(subject: StoreSubject): void {
  describe("a query", () => {
    it.each([true, false])("sees every commit that had settled, durable: %s", async (durable) => {
      const store = await storeFor(subject, [notes]);
      for (let round = 0; round < 50; round += 1) {
        await store.commit([change(notes, "add", { id: `${round}`, text: "" })], { durable });
        expect(await store.query(notes, "ids", null)).toHaveLength(round + 1);
      }
    });

    it("sees one state of the database, however long it takes", async () => {
      const store = await storeFor(subject, [notes]);
      let done = false;
      const write = async () => {
        for (let round = 0; !done; round += 1)
          await store.commit([change(notes, "add", { id: `${round}`, text: "" })], { durable: false });
      };
      const writing = write();
      const [before, after] = await store.query(notes, "countTwice", { milliseconds: 100 });
      done = true;
      await writing;
      expect(after).toBe(before);
      expect((await store.query(notes, "ids", null)).length).toBeGreaterThan(before);
    });

    it("is refused when the tables do not know it", async () => {
      const store = await storeFor(subject, [notes]);
      const untyped: AnyTables = notes;
      await expectRefusal(store.query(untyped, "burn", null), "invalid", '"notes.burn"');
      await expectRefusal(store.query(untyped, "constructor", null), "invalid", '"notes.constructor"');
      await expectRefusal(
        store.query({ ...notes, name: "letters" }, "ids", null),
        "invalid",
        '"letters.ids"',
      );
    });

    it("passes on why it failed, and the next one is answered", async () => {
      const store = await storeFor(subject, [notes]);
      await expectRefusal(
        store.query(notes, "fail", { message: "not like this" }),
        "invalid",
        /^not like this$/,
      );
      expect(await store.query(notes, "ids", null)).toEqual([]);
    });

    it("cannot write", async () => {
      const store = await storeFor(subject, [notes]);
      await store.commit([change(notes, "add", { id: "a", text: "" })]);
      await expect(store.query(notes, "write", null)).rejects.toMatchObject({ name: "StoreError" });
      expect(await store.query(notes, "ids", null)).toEqual(["a"]);
    });
  });
}
