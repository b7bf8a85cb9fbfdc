import { describe, expect, it } from "vitest";
import { change } from "../../src/sqlite/sqlite-store.ts";
import { notes } from "../tables/notes.ts";
import { tally } from "../tables/tally.ts";
import { expectRefusal, type StoreSubject, storeFor } from "./subject.ts";

/** Many commits at once. */
export function describeConcurrency(subject: StoreSubject): void {
  describe("commits asked for at the same time", () => {
    it("are applied in the order in which they were asked for", async () => {
      const store = await storeFor(subject, [notes]);
      const ids = Array.from({ length: 500 }, (_, index) => `note ${index}`);
      const places = await Promise.all(
        ids.map((id, index) =>
          store.commit([change(notes, "add", { id, text: "" })], { durable: index % 3 === 0 }),
        ),
      );
      expect(places).toEqual(ids.map((_, index) => [index + 1]));
      expect(await store.query(notes, "ids", null)).toEqual(ids);
    });

    it("are not harmed by one that fails", async () => {
      const store = await storeFor(subject, [notes, tally]);
      const isBad = (index: number) => index % 7 === 3;
      const settled = await Promise.allSettled(
        Array.from({ length: 200 }, (_, index) =>
          store.commit([
            change(tally, "raise", { name: "good", by: 1 }),
            change(notes, "add", { id: isBad(index) ? "the same" : `note ${index}`, text: "" }),
          ]),
        ),
      );
      const failed = settled.flatMap(({ status }, index) => (status === "rejected" ? [index] : []));
      const expected = settled.flatMap((_, index) => (isBad(index) && index > 3 ? [index] : []));
      expect(failed).toEqual(expected);
      const good = settled.length - expected.length;
      const totals = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value[0]] : []));
      expect(totals).toEqual(Array.from({ length: good }, (_, index) => index + 1));
      expect(await store.query(tally, "total", { name: "good" })).toBe(good);
      expect(await store.query(notes, "ids", null)).toHaveLength(good);
    });

    it("are not harmed by one whose arguments cannot be sent", async () => {
      const store = await storeFor(subject, [notes]);
      const add = (id: string) => store.commit([change(notes, "add", { id, text: "" })]);
      const unsendable = { tables: "notes", name: "add", args: { id: "b", text: () => "" } };
      const [first, bad, last] = [add("a"), store.commit([unsendable]), add("c")];
      await expectRefusal(bad, "invalid");
      expect([await first, await last]).toEqual([[1], [2]]);
    });

    it("are not harmed by one whose results cannot be sent, and that one was kept", async () => {
      const store = await storeFor(subject, [notes]);
      const add = (id: string) => store.commit([change(notes, "add", { id, text: "" })]);
      const leak = change(notes, "addAndLeak", { id: "b", text: "" });
      const [first, bad, last] = [add("a"), store.commit([leak]), add("c")];
      await expectRefusal(bad, "invalid", "was kept");
      expect([await first, await last]).toEqual([[1], [3]]);
      expect(await store.query(notes, "ids", null)).toEqual(["a", "b", "c"]);
    });

    it("may come from many callers that each wait", async () => {
      const store = await storeFor(subject, [notes, tally]);
      const produce = async (_: unknown, producer: number) => {
        for (let round = 0; round < 10; round += 1) {
          await store.commit([
            change(notes, "add", { id: `${producer}-${round}`, text: "" }),
            change(tally, "raise", { name: "all", by: 1 }),
            change(tally, "raise", { name: `producer ${producer % 10}`, by: 1 }),
          ]);
        }
      };
      await Promise.all(Array.from({ length: 300 }, produce));
      expect(await store.query(tally, "total", { name: "all" })).toBe(3_000);
      expect(await store.query(tally, "total", { name: "producer 7" })).toBe(300);
      const ids = await store.query(notes, "ids", null);
      expect(new Set(ids).size).toBe(3_000);
      expect(ids.filter((id) => id.startsWith("42-"))).toEqual(
        Array.from({ length: 10 }, (_, n) => `42-${n}`),
      );
    });
  });

  describe("more commits than may wait", () => {
    it("are refused until there is room again, and the others are kept", async () => {
      const store = await storeFor(subject, [notes], { maxWaiting: 10 });
      const add = (id: string) => store.commit([change(notes, "add", { id, text: "" })]);
      const all = Array.from({ length: 30 }, (_, index) => add(`${index}`));
      const settled = await Promise.allSettled(all);
      const refused = settled.filter(({ status }) => status === "rejected");
      expect(refused).toHaveLength(20);
      for (const one of refused)
        expect(one).toMatchObject({ reason: { name: "StoreError", code: "overloaded", retryable: true } });
      expect(await add("later")).toEqual([11]);
      expect(await store.query(notes, "ids", null)).toHaveLength(11);
    });
  });
}
