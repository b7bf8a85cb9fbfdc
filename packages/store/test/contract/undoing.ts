import { describe, expect, it } from "vitest";
import { change } from "../../src/sqlite/sqlite-store.ts";
import { notes } from "../tables/notes.ts";
import { tally } from "../tables/tally.ts";
import { expectRefusal, type StoreSubject, storeFor } from "./subject.ts";

/** What tables remember agrees with what is in the database. */
export function describeUndoing(subject: StoreSubject): void {
  describe("tables that remember", () => {
    const raise = (by: number) => change(tally, "raise", { name: "x", by });
    const fail = change(notes, "addAndFail", { id: "a", message: "no" });
    const inspect = change(tally, "inspect", { name: "x" });

    it("are not notified when nothing was undone", async () => {
      const store = await storeFor(subject, [notes, tally]);
      await store.commit([raise(1), raise(2)]);
      expect(await store.commit([inspect])).toEqual([{ remembered: 3, kept: 3, undone: 0 }]);
    });

    it("are notified when a commit of theirs was undone", async () => {
      const store = await storeFor(subject, [notes, tally]);
      await store.commit([raise(1)]);
      await expectRefusal(store.commit([raise(10), fail]), "invalid");
      const [before, total, after] = await store.commit([inspect, raise(1), inspect]);
      expect(before).toMatchObject({ remembered: undefined, kept: 1 });
      expect(before.undone).toBeGreaterThan(0);
      expect([total, after]).toMatchObject([2, { remembered: 2, kept: 2 }]);
    });

    it("are notified when their own change failed half way", async () => {
      const store = await storeFor(subject, [notes, tally]);
      await store.commit([raise(1)]);
      await expectRefusal(store.commit([raise(-5)]), "invalid");
      expect(await store.commit([raise(1)])).toEqual([2]);
    });

    it("are right about every commit among many of which some fail", async () => {
      const store = await storeFor(subject, [notes, tally]);
      const settled = await Promise.allSettled(
        Array.from({ length: 100 }, (_, index) =>
          store.commit(index % 10 === 5 ? [raise(1_000), fail] : [raise(1)]),
        ),
      );
      const totals = settled.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
      expect(totals).toEqual(Array.from({ length: 90 }, (_, index) => index + 1));
      expect(await store.query(tally, "total", { name: "x" })).toBe(90);
    });
  });
}
