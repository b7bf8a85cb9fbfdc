import { describe, expect, it } from "vitest";
import { change } from "../../src/sqlite/sqlite-store.ts";
import type { Change } from "../../src/store.ts";
import { notes } from "../tables/notes.ts";
import { tally } from "../tables/tally.ts";
import { expectRefusal, placeFor, type StoreSubject, storeFor } from "./subject.ts";

/** Commits: all or nothing, in order, and one caller's failure does not affect others. */
export function describeCommits(subject: StoreSubject): void {
  describe("a commit", () => {
    it("changes several tables together and returns the result of each change, in order", async () => {
      const store = await storeFor(subject, [notes, tally]);
      const [place, total, isNew]: readonly [number, number, boolean] = await store.commit([
        change(notes, "add", { id: "a", text: "first" }),
        change(tally, "raise", { name: "x", by: 5 }),
        change(notes, "keep", { id: "a", text: "first" }),
      ]);
      expect([place, total, isNew]).toEqual([1, 5, false]);
      expect(await store.query(notes, "find", { id: "a" })).toEqual({ id: "a", text: "first" });
      expect(await store.query(tally, "total", { name: "x" })).toBe(5);
    });

    it.each([0, 1, 2])("is undone in all tables when the change at place %d fails", async (place) => {
      const store = await storeFor(subject, [notes, tally]);
      const changes: Change<unknown>[] = [
        change(tally, "raise", { name: "x", by: 5 }),
        change(notes, "add", { id: "a", text: "never" }),
      ];
      const failing = change(notes, "addAndFail", { id: "b", message: "we do not want this" });
      await expectRefusal(
        store.commit(changes.toSpliced(place, 0, failing)),
        "invalid",
        "we do not want this",
      );
      expect(await store.query(notes, "ids", null)).toEqual([]);
      expect(await store.query(tally, "total", { name: "x" })).toBe(0);
    });

    it("may be empty", async () => {
      const store = await storeFor(subject, [notes]);
      expect(await store.commit([])).toEqual([]);
    });

    it("says that it contradicts what is there", async () => {
      const store = await storeFor(subject, [notes]);
      await store.commit([change(notes, "add", { id: "a", text: "first" })]);
      await expectRefusal(store.commit([change(notes, "add", { id: "a", text: "second" })]), "conflict");
      expect(await store.query(notes, "find", { id: "a" })).toMatchObject({ text: "first" });
    });

    it("passes on the code that a change gave to its refusal", async () => {
      const store = await storeFor(subject, [notes]);
      const refusal = change(notes, "addAndFail", { id: "a", message: "answered already", code: "conflict" });
      await expectRefusal(store.commit([refusal]), "conflict", /^answered already$/);
    });

    it.each([
      ["change", { tables: "notes", name: "burn", args: null }],
      ["change of that name that is not inherited", { tables: "notes", name: "toString", args: null }],
      ["table of that name", { tables: "letters", name: "add", args: null }],
    ])("is refused when there is no %s", async (_, unknown) => {
      const store = await storeFor(subject, [notes]);
      const known = change(notes, "add", { id: "a", text: "" });
      await expectRefusal(store.commit([known, unknown]), "invalid", `"${unknown.tables}.${unknown.name}"`);
      expect(await store.query(notes, "ids", null)).toEqual([]);
    });

    it("can be repeated where the change allows it, also after the store was opened anew", async () => {
      const place = await placeFor(subject);
      const note = change(notes, "keep", { id: "a", text: "once" });
      const first = await place.open([notes]);
      expect([await first.commit([note]), await first.commit([note])]).toEqual([[true], [false]]);
      await first.close();
      const second = await place.open([notes]);
      expect(await second.commit([note])).toEqual([false]);
      expect(await second.query(notes, "ids", null)).toEqual(["a"]);
    });

    it.each([true, false])("is there after the store was opened anew, durable: %s", async (durable) => {
      const place = await placeFor(subject);
      const first = await place.open([notes]);
      await first.commit([change(notes, "add", { id: "a", text: "kept" })], { durable });
      await first.close();
      const second = await place.open([notes]);
      expect(await second.query(notes, "find", { id: "a" })).toEqual({ id: "a", text: "kept" });
    });

    it("may be big", async () => {
      const store = await storeFor(subject, [notes]);
      const text = "größer ".repeat(1_000_000);
      const bytes = new Uint8Array(8_000_000).map((_, index) => index % 251);
      await store.commit([
        change(notes, "add", { id: "long", text }),
        change(notes, "keepBytes", { id: "wide", bytes }),
      ]);
      expect((await store.query(notes, "find", { id: "long" }))?.text === text).toBe(true);
      const found = await store.query(notes, "bytes", { id: "wide" });
      expect(found && Buffer.compare(found, bytes)).toBe(0);
    });
  });
}
