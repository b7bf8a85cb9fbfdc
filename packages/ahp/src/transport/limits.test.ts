import fc from "fast-check";
import { expect, test } from "vitest";
import { InFlight, type Place, type Sender, settleLimits } from "./limits.ts";

const limits = settleLimits();

/** Takes places until there are none, and says how many there were. */
function takeAll(inFlight: InFlight, sender: Sender | ((index: number) => Sender), bytes = 1): number {
  const of = typeof sender === "function" ? sender : () => sender;
  let taken = 0;
  while (inFlight.take("decisions", of(taken), bytes)) taken += 1;
  return taken;
}

test("a peer has its bound, and another of the same principal as much", () => {
  const inFlight = new InFlight(limits);
  expect(takeAll(inFlight, { principal: "p", peer: "slow" })).toBe(256);
  expect(takeAll(inFlight, { principal: "p", peer: "other" })).toBe(256);
});

test("what waits for decisions takes nothing from queries and notifications, nor from bodies that arrive", () => {
  const inFlight = new InFlight(limits);
  const sender = { principal: "p", peer: "slow" };
  takeAll(inFlight, sender);
  expect(inFlight.take("others", sender, 1)).toBeDefined();
  expect(inFlight.take("arriving", sender, 1)).toBeDefined();
});

test("a peer that goes by any number of names takes no more than its principal's share", () => {
  const inFlight = new InFlight(limits);
  expect(takeAll(inFlight, (peer) => ({ principal: "many", peer }))).toBe(limits.maxInFlightPerPrincipal);
  expect(takeAll(inFlight, { principal: "another", peer: 1 })).toBe(256);
});

test("principals that take all they can leave room for the next, and all together keep to the bound", () => {
  const inFlight = new InFlight(limits);
  let taken = 0;
  for (let principal = 0; principal < 50; principal += 1) {
    const own = takeAll(inFlight, (peer) => ({ principal: `p${principal}`, peer }));
    if (principal < 10) expect(own).toBeGreaterThan(0);
    taken += own;
  }
  expect(taken).toBeLessThanOrEqual(limits.maxInFlightTotal);
});

test("large messages of one peer are bounded in bytes, and leave room for another's", () => {
  const inFlight = new InFlight(limits);
  const large = limits.maxMessageBytes;
  const first = takeAll(inFlight, { principal: "p", peer: 1 }, large);
  expect(first * large).toBe(limits.maxInFlightBytesPerPrincipal / 2);
  expect(inFlight.take("decisions", { principal: "p", peer: 2 }, large)).toBeDefined();
});

test("whatever is taken, grown and released, no bound is passed and nothing is left over", () => {
  const small = settleLimits({
    ...{ maxInFlight: 4, maxInFlightPerPrincipal: 10, maxInFlightTotal: 20, maxMessageBytes: 5 },
    ...{ maxInFlightBytesPerPrincipal: 50, maxInFlightBytesTotal: 80 },
  });
  const step = fc.record({
    principal: fc.constantFrom("a", "b", "c"),
    peer: fc.nat(4),
    bytes: fc.nat(20),
    release: fc.option(fc.nat(30), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const inFlight = new InFlight(small);
      const held: { place: Place; principal: string; peer: number; bytes: number }[] = [];
      const sum = (of: (one: (typeof held)[number]) => boolean) => {
        const those = held.filter(of);
        return [those.length, those.reduce((total, { bytes }) => total + bytes, 0)] as const;
      };
      for (const { principal, peer, bytes, release } of steps) {
        if (release !== undefined) held.splice(release % (held.length || 1), 1)[0]?.place.release();
        const place = inFlight.take("others", { principal, peer }, bytes);
        if (!place) continue;
        held.push({ place, principal, peer, bytes: bytes + (place.grow(bytes) ? bytes : 0) });
        const [all, allBytes] = sum(() => true);
        const [own, ownBytes] = sum((one) => one.principal === principal);
        const [peers] = sum((one) => one.principal === principal && one.peer === peer);
        expect(all).toBeLessThanOrEqual(20);
        expect(allBytes).toBeLessThanOrEqual(80);
        expect(own).toBeLessThanOrEqual(10);
        expect(ownBytes).toBeLessThanOrEqual(50);
        expect(peers).toBeLessThanOrEqual(4);
      }
      for (const { place } of held) {
        place.release();
        place.release();
      }
      expect(takeAll(inFlight, { principal: "a", peer: 0 })).toBe(4);
    }),
  );
});
