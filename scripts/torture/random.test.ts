import { describe, expect, it } from "vitest";
import { seededRandom } from "./random.ts";

describe("seededRandom", () => {
  it("repeats itself for the same seed and differs for another", () => {
    const draw = (seed: number) => {
      const random = seededRandom(seed);
      return [
        random.int(1_000_000),
        random.string(20),
        [...random.bytes(8)],
        random.pick(["a", "b", "c"]),
        random.chance(0.5),
      ];
    };
    expect(draw(123)).toEqual(draw(123));
    expect(draw(123)).not.toEqual(draw(124));
  });

  it("stays as it is from version to version, so that an old seed still replays", () => {
    const random = seededRandom(42);
    expect([random.int(2 ** 32), random.int(2 ** 32), random.int(2 ** 32)]).toEqual([
      1_251_167_922, 656_401_615, 478_193_053,
    ]);
  });

  it("reaches every value below the bound about equally often, and never the bound", () => {
    const random = seededRandom(7);
    const counts = Array.from({ length: 6 }, () => 0);
    for (let draw = 0; draw < 60_000; draw += 1) counts[random.int(6)]! += 1;
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
    expect(counts).toHaveLength(6);
  });

  it("gives chances their share", () => {
    const random = seededRandom(7);
    const hits = Array.from({ length: 10_000 }, () => random.chance(0.25)).filter(Boolean).length;
    expect(Math.abs(hits - 2_500)).toBeLessThan(250);
    expect(random.chance(0)).toBe(false);
    expect(random.chance(1)).toBe(true);
  });

  it("makes strings of whole characters from the alphabet", () => {
    const text = seededRandom(1).string(50, "é😀");
    expect([...text]).toHaveLength(50);
    expect([...text].every((character) => "é😀".includes(character))).toBe(true);
  });

  it("refuses a bound it cannot meet and an empty choice", () => {
    const random = seededRandom(1);
    for (const bound of [0, -1, 1.5, Number.NaN, 2 ** 33])
      expect(() => random.int(bound)).toThrow(RangeError);
    expect(() => random.pick([])).toThrow("Nothing to pick from.");
    expect(random.pick([undefined])).toBeUndefined();
  });
});
