import { describe, expect, it } from "vitest";
import { weightOf } from "./commit-load.ts";

describe("the weight of plain data", () => {
  it("grows with what is in it", () => {
    expect(weightOf("x".repeat(1_000), 1e9)).toBeGreaterThanOrEqual(1_000);
    expect(weightOf([{ deep: { text: "x".repeat(1_000) } }], 1e9)).toBeGreaterThanOrEqual(1_000);
    expect(weightOf(new Uint8Array(5_000), 1e9)).toBeGreaterThanOrEqual(5_000);
    expect(weightOf({ view: Buffer.alloc(5_000), buffer: new ArrayBuffer(5_000) }, 1e9)).toBeGreaterThan(
      10_000,
    );
    expect(
      weightOf(
        Array.from({ length: 200_000 }, () => 1),
        1e9,
      ),
    ).toBeGreaterThan(200_000);
    expect(weightOf([null, undefined, 1, true, 2n], 1e9)).toBeLessThan(100);
  });

  it("ends, whatever it is given", () => {
    const circle: { self?: unknown } = {};
    circle.self = [circle, circle];
    expect(weightOf(circle, 10_000)).toBeGreaterThanOrEqual(10_000);
  });
});
