import { describe, expect, it } from "vitest";
import { change } from "../../src/sqlite/sqlite-store.ts";
import type { Lease, Store } from "../../src/store.ts";
import { notes } from "../tables/notes.ts";
import { expectRefusal, placeFor, type StoreSubject } from "./subject.ts";

/** Leases: one owner at a time, and none that comes too late. */
export function describeLeases(subject: StoreSubject): void {
  describe("a lease", () => {
    async function open() {
      const place = await placeFor(subject);
      const clock = { now: 1_000 };
      const reopen = () => place.open([notes], { now: () => clock.now });
      return { store: await reopen(), clock, reopen };
    }
    async function claimed(store: Store): Promise<Lease> {
      const lease = await store.claim("session", "here", 500);
      if (!lease) throw new Error("another owner holds the lease");
      return lease;
    }
    const write = (store: Store, id: string, lease: Lease | undefined) =>
      store.commit([change(notes, "add", { id, text: "" })], lease && { lease });

    it("goes to the first who claims it, for as long as was said", async () => {
      const { store, clock } = await open();
      expect(await store.claim("session", "here", 500)).toEqual({
        name: "session",
        owner: "here",
        epoch: 1,
        expires: 1_500,
      });
      expect(await store.claim("session", "there", 500)).toBeUndefined();
      expect(await store.claim("other session", "there", 500)).toMatchObject({ epoch: 1 });
      clock.now = 1_499;
      expect(await store.claim("session", "there", 500)).toBeUndefined();
      clock.now = 1_500;
      expect(await store.claim("session", "there", 500)).toMatchObject({ owner: "there", epoch: 2 });
    });

    it("goes to one of many who claim it at once", async () => {
      const { store } = await open();
      const owners = Array.from({ length: 20 }, (_, index) => `owner ${index}`);
      const claims = await Promise.all(owners.map((owner) => store.claim("session", owner, 500)));
      expect(claims.filter(Boolean)).toMatchObject([{ owner: "owner 0", epoch: 1 }]);
    });

    it("has a new epoch when its owner claims it again, and the old one is refused", async () => {
      const { store } = await open();
      const first = await store.claim("session", "here", 500);
      const second = await store.claim("session", "here", 500);
      expect(second).toMatchObject({ owner: "here", epoch: 2 });
      await expectRefusal(write(store, "late", first), "fenced", '"session"');
      expect(await write(store, "in time", second)).toEqual([1]);
    });

    it("is held for longer when it is renewed, under the same epoch", async () => {
      const { store, clock } = await open();
      const lease = await claimed(store);
      clock.now = 1_400;
      expect(await store.renew(lease, 500)).toEqual({ ...lease, expires: 1_900 });
      clock.now = 1_600;
      expect(await store.claim("session", "there", 500)).toBeUndefined();
      expect(await write(store, "a", lease)).toEqual([1]);
    });

    it("can be renewed after its time while no other owner has claimed it, not afterwards", async () => {
      const { store, clock } = await open();
      const lease = await claimed(store);
      clock.now = 2_000;
      expect(await store.renew(lease, 500)).toMatchObject({ epoch: 1, expires: 2_500 });
      clock.now = 3_000;
      await store.claim("session", "there", 500);
      expect(await store.renew(lease, 500)).toBeUndefined();
    });

    it("refuses everything of an owner from whom it has passed on, and only that", async () => {
      const { store, clock } = await open();
      const first = await store.claim("session", "here", 500);
      clock.now = 1_500;
      const second = await store.claim("session", "there", 500);
      const [a, b, c] = [write(store, "a", first), write(store, "b", second), write(store, "c", first)];
      for (const one of [a, c]) await expectRefusal(one, "fenced", "epoch 1");
      expect(await b).toEqual([1]);
      expect(await write(store, "d", undefined)).toEqual([2]);
      expect(await store.query(notes, "ids", null)).toEqual(["b", "d"]);
    });

    it("is free once it is released, and its owner can no longer write", async () => {
      const { store } = await open();
      const lease = await claimed(store);
      await store.release(lease);
      await expectRefusal(write(store, "late", lease), "fenced");
      expect(await store.renew(lease, 500)).toBeUndefined();
      expect(await store.claim("session", "there", 500)).toMatchObject({ owner: "there", epoch: 2 });
    });

    it("is not released by a former owner", async () => {
      const { store, clock } = await open();
      const first = await claimed(store);
      clock.now = 1_500;
      const second = await store.claim("session", "there", 500);
      await store.release(first);
      expect(await store.claim("session", "elsewhere", 500)).toBeUndefined();
      expect(await write(store, "a", second)).toEqual([1]);
    });

    it("keeps its owner, and its epoch grows on, when the store is opened anew", async () => {
      const { store, clock, reopen } = await open();
      const before = await claimed(store);
      await store.close();
      const again = await reopen();
      expect(await again.claim("session", "there", 500)).toBeUndefined();
      expect(await write(again, "a", before)).toEqual([1]);
      clock.now = 1_500;
      expect(await again.claim("session", "there", 500)).toMatchObject({ epoch: 2 });
      await expectRefusal(write(again, "b", before), "fenced");
    });
  });
}
