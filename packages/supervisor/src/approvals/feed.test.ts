import { ManualClock, settled } from "@reins/kit/manual-clock";
import { StoreError } from "@reins/store";
import { describe, expect, test } from "vitest";
import { Expiry, Feed, Steps } from "./feed.ts";

/** A feed over changes that a test adds. */
function feedOf() {
  const changes: { seq: number }[] = [];
  const errors: unknown[] = [];
  const queries: string[] = [];
  const store = {
    query: async (_: unknown, name: string, args: { after: number; limit: number }) => {
      queries.push(name);
      if (name === "lastChange") return changes.at(-1)?.seq ?? 0;
      return changes.filter(({ seq }) => seq > args.after).slice(0, args.limit);
    },
  };
  const atRest = { readChange: (change: unknown) => change };
  const feed = new Feed(store as never, atRest as never, (error) => errors.push(error));
  const add = (many = 1) => {
    for (let count = 0; count < many; count += 1) changes.push({ seq: changes.length + 1 });
  };
  return { feed, add, errors, queries };
}

describe("the feed of changes", () => {
  test("notifies of what was committed after it began, in order and once", async () => {
    const { feed, add } = feedOf();
    add(3);
    const seen: number[] = [];
    feed.subscribe(({ seq }) => seen.push(seq));
    await feed.start();
    add(2);
    await feed.announce();
    await feed.announce();
    expect(seen).toEqual([4, 5]);
  });

  test("looks up where it begins once", async () => {
    const { feed, queries } = feedOf();
    await Promise.all([feed.start(), feed.start()]);
    await feed.start();
    expect(queries).toEqual(["lastChange"]);
  });

  test("reads many changes page by page", async () => {
    const { feed, add } = feedOf();
    await feed.start();
    let seen = 0;
    feed.subscribe(() => {
      seen += 1;
    });
    add(1_000);
    await feed.announce();
    expect(seen).toBe(1_000);
  });

  test("misses nothing that is announced while it reads", async () => {
    const { feed, add } = feedOf();
    await feed.start();
    const seen: number[] = [];
    feed.subscribe(({ seq }) => {
      seen.push(seq);
      if (seq !== 1) return;
      add();
      void feed.announce();
    });
    add();
    await feed.announce();
    await settled();
    expect(seen).toEqual([1, 2]);
  });

  test("ends a subscription, and only that one, also of a listener that subscribed twice", async () => {
    const { feed, add } = feedOf();
    await feed.start();
    let calls = 0;
    const listener = () => {
      calls += 1;
    };
    const unsubscribe = feed.subscribe(listener);
    feed.subscribe(listener);
    unsubscribe();
    unsubscribe();
    add();
    await feed.announce();
    expect(calls).toBe(1);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["rejects", () => Promise.reject(new Error("broken"))],
  ])("reports a listener that %s, and notifies the others", async (_, listener) => {
    const { feed, add, errors } = feedOf();
    await feed.start();
    const seen: number[] = [];
    feed.subscribe(listener);
    feed.subscribe(({ seq }) => seen.push(seq));
    add();
    await feed.announce();
    await settled();
    expect(seen).toEqual([1]);
    expect(errors).toMatchObject([{ message: "broken" }]);
  });

  test("notifies of nothing after it was closed", async () => {
    const { feed, add } = feedOf();
    await feed.start();
    const seen: number[] = [];
    feed.subscribe(({ seq }) => seen.push(seq));
    await feed.close();
    add();
    await feed.announce();
    expect(seen).toEqual([]);
  });
});

describe("a step", () => {
  const steps = new Steps({} as never);
  const conflict = new StoreError("conflict", "changed concurrently");

  test("is retried after a conflict", async () => {
    let tries = 0;
    const result = await steps.untilFirst(async () => {
      tries += 1;
      if (tries < 4) throw conflict;
      return "done";
    });
    expect([result, tries]).toEqual(["done", 4]);
  });

  test.each([
    ["another failure of the store", new StoreError("full", "the disk is full")],
    ["any other error", new Error("broken")],
  ])("is not retried after %s", async (_, error) => {
    let tries = 0;
    const attempt = async () => {
      tries += 1;
      throw error;
    };
    await expect(steps.untilFirst(attempt)).rejects.toBe(error);
    expect(tries).toBe(1);
  });

  test("gives up in the end", async () => {
    await expect(steps.untilFirst(() => Promise.reject(conflict))).rejects.toBe(conflict);
  });

  test("names the webhooks of its tenant", () => {
    const clock = new ManualClock();
    const webhooks = [
      { name: "all", url: "https://a", secret: "" },
      { name: "own", url: "https://a", secret: "", tenant: "acme" },
      { name: "other", url: "https://a", secret: "", tenant: "zeta" },
    ];
    const named = new Steps({ clock, webhooks } as never);
    expect(named.notice("acme")).toEqual({ at: clock.now().toISOString(), webhooks: ["all", "own"] });
  });
});

describe("expiry", () => {
  function expiryOf(sweep: () => Promise<unknown> = async () => undefined) {
    const clock = new ManualClock();
    const errors: unknown[] = [];
    const sweeps: string[] = [];
    const expiry = new Expiry(
      clock,
      async () => {
        sweeps.push(clock.now().toISOString());
        await sweep();
      },
      (error) => errors.push(error),
    );
    const inMs = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();
    return { clock, expiry, errors, sweeps, inMs };
  }

  test("sweeps when the time of the next approval is over, not before", async () => {
    const { clock, expiry, sweeps, inMs } = expiryOf();
    expiry.arm(inMs(5_000));
    await clock.advanceAndSettle(4_999);
    expect(sweeps).toEqual([]);
    await clock.advanceAndSettle(1);
    expect(sweeps).toHaveLength(1);
  });

  test("keeps the earlier of two times", async () => {
    const { clock, expiry, sweeps, inMs } = expiryOf();
    expiry.arm(inMs(5_000));
    expiry.arm(inMs(9_000));
    expiry.arm(inMs(2_000));
    expect(clock.waiting).toBe(1);
    await clock.advanceAndSettle(2_000);
    expect(sweeps).toHaveLength(1);
  });

  test("waits for a far time in pieces, so that a clock that is set counts", async () => {
    const { clock, expiry, sweeps, inMs } = expiryOf();
    const end = inMs(86_400_000);
    expiry.arm(end);
    await clock.advanceAndSettle(120_000);
    expect(sweeps).toEqual([]);
    clock.set(new Date(end));
    await clock.advanceAndSettle(60_000);
    expect(sweeps).toHaveLength(1);
  });

  test("tries again later what could not be swept, and reports it", async () => {
    let fails = true;
    const { clock, expiry, errors, sweeps, inMs } = expiryOf(async () => {
      if (fails) throw new Error("disk full");
    });
    expiry.arm(inMs(0));
    await clock.advanceAndSettle(0);
    expect(errors).toMatchObject([{ message: "disk full" }]);
    fails = false;
    await clock.advanceAndSettle(60_000);
    expect(sweeps).toHaveLength(2);
    expect(errors).toHaveLength(1);
  });

  test("sweeps no more after it was closed", async () => {
    const { clock, expiry, sweeps, inMs } = expiryOf();
    expiry.arm(inMs(1_000));
    await expiry.close();
    expiry.arm(inMs(1_000));
    await clock.advanceAndSettle(10_000);
    expect(sweeps).toEqual([]);
  });
});
