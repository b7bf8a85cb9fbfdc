import { ManualClock, settled } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import { QuotaError, Quotas } from "./quotas.ts";

const ann = { id: "tok_ann", tenant: "acme" };
const ben = { id: "tok_ben", tenant: "acme" };
const eve = { id: "tok_eve", tenant: "globex" };

function times(count: number, run: () => unknown): (QuotaError | unknown)[] {
  return Array.from({ length: count }, () => {
    try {
      return run();
    } catch (error) {
      return error;
    }
  });
}
const passed = (results: unknown[]) => results.filter((result) => !(result instanceof QuotaError)).length;

describe("a rate", () => {
  test("lets a principal have so many, and gives them back evenly", () => {
    const clock = new ManualClock();
    const quotas = new Quotas({ principal: { requests: 60 }, tenant: { requests: 1_000 } }, clock);
    expect(passed(times(100, () => quotas.take("requests", ann)))).toBe(60);
    clock.advance(5_000);
    expect(passed(times(100, () => quotas.take("requests", ann)))).toBe(5);
    clock.advance(3_600_000);
    expect(passed(times(100, () => quotas.take("requests", ann)))).toBe(60);
  });

  test("counts for the whole tenant, whichever principals use it, and for no other", () => {
    const quotas = new Quotas({ tenant: { requests: 10 } }, new ManualClock());
    expect(passed(times(8, () => quotas.take("requests", ann)))).toBe(8);
    expect(passed(times(8, () => quotas.take("requests", ben)))).toBe(2);
    expect(passed(times(10, () => quotas.take("requests", eve)))).toBe(10);
  });

  test("does not charge a tenant for what its principal may not, so that one cannot spend what is for all", () => {
    const quotas = new Quotas({ principal: { requests: 3 }, tenant: { requests: 10 } }, new ManualClock());
    times(1_000, () => quotas.take("requests", ann));
    expect(passed(times(3, () => quotas.take("requests", ben)))).toBe(3);
  });

  test("says what is left, and when to come back", () => {
    const quotas = new Quotas({ principal: { prompts: 2 } }, new ManualClock());
    expect(quotas.take("prompts", ann)).toMatchObject({ limit: 2, remaining: 1, windowMs: 60_000 });
    expect(quotas.take("prompts", ann)).toMatchObject({ remaining: 0 });
    const [refused] = times(1, () => quotas.take("prompts", ann));
    expect(refused).toMatchObject({ quota: "prompts", retryAfterMs: 30_000, state: { remaining: 0 } });
  });

  test("can be another for one tenant, none at all, and is none for the operator", () => {
    const quotas = new Quotas({
      tenant: { installs: 1 },
      tenants: { acme: { installs: 2 }, globex: { installs: 0 } },
    });
    expect(passed(times(5, () => quotas.take("installs", ann)))).toBe(2);
    expect(passed(times(5, () => quotas.take("installs", eve)))).toBe(0);
    expect(passed(times(5, () => quotas.take("installs", { id: "x", tenant: "constructor" })))).toBe(1);
    const operator = { id: "local", tenant: "default" };
    expect(passed(times(5_000, () => quotas.take("installs", operator)))).toBe(5_000);
  });

  test("stays as it is when the clock is set back", () => {
    const clock = new ManualClock();
    const quotas = new Quotas({ principal: { requests: 2 } }, clock);
    times(2, () => quotas.take("requests", ann));
    clock.set(new Date(0));
    expect(passed(times(2, () => quotas.take("requests", ann)))).toBe(0);
  });
});

describe("a turn", () => {
  test("is there at once within the quota, and beyond it is waited for", async () => {
    const clock = new ManualClock("2026-11-18T09:00:00.000Z");
    const quotas = new Quotas({ principal: { messages: 60 } }, clock);
    expect(times(60, () => quotas.turn("messages", ann))).toEqual(Array(60).fill(undefined));
    const passed: number[] = [];
    const waiting = [1, 2].map((one) => quotas.turn("messages", ann)?.then(() => passed.push(one)));
    expect(quotas.turn("messages", eve)).toBeUndefined();
    expect(quotas.turn("messages", { id: "local" })).toBeUndefined();
    await settled();
    expect(passed).toEqual([]);
    clock.advance(1_000);
    await settled();
    expect(passed).toHaveLength(1);
    clock.advance(1_000);
    await Promise.all(waiting);
    expect(passed.toSorted()).toEqual([1, 2]);
  });

  test("that does not come is refused in the end", async () => {
    const clock = new ManualClock("2026-11-18T09:00:00.000Z");
    const quotas = new Quotas({ principal: { messages: 0 } }, clock);
    const turn = expect(quotas.turn("messages", ann)).rejects.toThrow(QuotaError);
    clock.advance(60_000);
    await turn;
  });
});

describe("what is held", () => {
  test("is bounded for a principal and its tenant, and given back once", () => {
    const quotas = new Quotas({ principal: { streams: 2 }, tenant: { streams: 3 } });
    const first = quotas.hold("streams", ann);
    quotas.hold("streams", ann);
    expect(() => quotas.hold("streams", ann)).toThrow("2 of 2 streams");
    quotas.hold("streams", ben);
    expect(() => quotas.hold("streams", ben)).toThrow("this tenant has 3 of 3 streams");
    quotas.hold("streams", eve);
    first();
    first();
    quotas.hold("streams", ben);
    expect(() => quotas.hold("streams", ann)).toThrow(QuotaError);
  });

  test("can be counted by others", () => {
    const quotas = new Quotas({ principal: { sessions: 5 }, tenant: { sessions: 9 } });
    quotas.require("sessions", ann, { principal: 4, tenant: 8 });
    expect(() => quotas.require("sessions", ann, { principal: 5, tenant: 5 })).toThrow("5 of 5 sessions");
    expect(() => quotas.require("sessions", ann, { principal: 0, tenant: 9 })).toThrow("9 of 9 sessions");
    expect(quotas.bounds("stored_bytes", ann)).toBe(true);
    expect(quotas.bounds("stored_bytes", { id: "local" })).toBe(false);
  });
});
