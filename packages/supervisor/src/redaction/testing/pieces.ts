import fc from "fast-check";

/** Cuts a text at so many places as there are numbers, which say where. */
export function cut(text: string, places: readonly number[]): readonly string[] {
  const borders = [...new Set(places.map((place) => place % (text.length + 1)))].sort(
    (left, right) => left - right,
  );
  return [0, ...borders].map((border, index) => text.slice(border, borders[index] ?? text.length));
}

/** Places to cut at: few of them, many, or everywhere. */
export const places: fc.Arbitrary<readonly number[]> = fc.oneof(
  fc.array(fc.nat(5_000), { maxLength: 4 }),
  fc.array(fc.nat(5_000), { maxLength: 200 }),
  fc.constant(Array.from({ length: 2_000 }, (_, index) => index)),
);
