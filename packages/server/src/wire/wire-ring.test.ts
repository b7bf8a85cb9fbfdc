import { expect, test } from "vitest";
import { type Passed, sizeWithin, WireRing } from "./wire-ring.ts";

function passed(message: Passed["message"], more: Partial<Passed> = {}): Passed {
  return {
    ...{ protocol: "acp", edge: "client", direction: "in", tenant: "default", peer: "c1", agent: "native" },
    ...{ session: undefined, message },
    ...more,
  };
}

const everything = () => true;

test("a response has the method and session of its request", () => {
  const ring = new WireRing(() => 0);
  ring.take(passed({ id: 1, method: "session/prompt", params: {} }, { session: "s" }));
  ring.take(passed({ id: 1, method: "fs/read_text_file", params: {} }, { session: "s", direction: "out" }));
  ring.take(passed({ id: 1, result: {} }, { direction: "out" }));
  ring.take(passed({ id: 1, error: { code: 1 } }));
  expect(ring.list(everything).map(({ kind, method, session }) => [kind, method, session])).toEqual([
    ["request", "session/prompt", "s"],
    ["request", "fs/read_text_file", "s"],
    ["answer", "session/prompt", "s"],
    ["error", "fs/read_text_file", "s"],
  ]);
});

test("a busy session does not displace others, and evictions are counted", () => {
  const ring = new WireRing(() => 0);
  ring.take(passed({ method: "quiet" }, { session: "quiet" }));
  for (let n = 0; n < 2_000; n += 1) ring.take(passed({ method: "m", params: { n } }, { session: "loud" }));
  expect(ring.list(everything, "quiet")).toHaveLength(1);
  const kept = ring.list(everything, "loud");
  expect(kept.length).toBeLessThanOrEqual(625);
  expect(ring.dropped).toBe(2_000 - kept.length);
  expect(kept.at(-1)?.seq).toBe(ring.last);
});

test("beyond the limit the least recently used session is evicted", () => {
  const ring = new WireRing(() => 0);
  for (let n = 0; n < 201; n += 1) ring.take(passed({ method: "m" }, { session: `s${n}` }));
  expect(ring.list(everything, "s0")).toEqual([]);
  expect(ring.list(everything, "s1")).toHaveLength(1);
  expect(ring.dropped).toBe(1);
  // What it says next may be the end of a secret that it had begun to say.
  ring.take(passed({ method: "m" }, { session: "s0" }));
  expect([ring.forgot("s0"), ring.forgot("s200")]).toEqual([true, false]);
});

test("the total size is limited by evicting the least recently used sessions", () => {
  const ring = new WireRing(() => 0);
  const params = { text: "x".repeat(60_000) };
  for (let n = 0; n < 2_000; n += 1) ring.take(passed({ method: "m", params }, { session: `s${n % 40}` }));
  const kept = ring.list(everything);
  expect(kept.length * 60_000).toBeLessThanOrEqual(32 * 1_024 * 1_024);
  expect(kept.length).toBeGreaterThan(400);
  expect(kept.at(-1)?.seq).toBe(ring.last);
  expect(ring.dropped).toBe(2_000 - kept.length);
  for (let n = 0; n < 2_000; n += 1) ring.take(passed({ method: "m", params }, { session: "alone" }));
  expect(ring.list(everything).every(({ session }) => session === "alone")).toBe(true);
  expect(ring.list(everything, "alone").length).toBeGreaterThan(200);
});

test("a message that is too large is kept without its content", () => {
  const ring = new WireRing(() => 0);
  ring.take(passed({ jsonrpc: "2.0", id: 4, method: "m", params: { text: "x".repeat(1_000_000) } }));
  expect(ring.list(everything)).toMatchObject([
    { truncated: true, message: { jsonrpc: "2.0", id: 4, method: "m" } },
  ]);
  expect(sizeWithin({ text: "abc" }, 100)).toBeGreaterThan(3);
  expect(sizeWithin(Array.from({ length: 1_000 }), 100)).toBeUndefined();
  expect(sizeWithin(JSON.parse("[".repeat(5_000) + "]".repeat(5_000)), 1_000_000)).toBeUndefined();
});
