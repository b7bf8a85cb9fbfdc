import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Format, Reading } from "../format.ts";
import { drawn, secretCases } from "../testing/secret-corpus.ts";
import { suits } from "../triggers.ts";
import { KNOWN_FORMATS } from "./known.ts";

const secret = fc.oneof(...secretCases().map(drawn));
const tail = fc.string({ unit: fc.constantFrom(..."aB3 \n\"'\\.:=+-/@[x"), maxLength: 60 });

describe("every known format", () => {
  test.each(KNOWN_FORMATS.map((format, index) => ({ index, format })))(
    "$format.name ($index) finds a secret of the corpus",
    ({ format }) => {
      const texts = secretCases().flatMap((one) =>
        (one.in ?? ["{}"]).flatMap((text) =>
          fc.sample(drawn({ ...one, in: [text] }), { numRuns: 2, seed: 7 }),
        ),
      );
      expect(texts.some(({ text }) => readings(format, text).some(({ is }) => is === "secret"))).toBe(true);
    },
  );

  test("knows as much of a text as it will ever know, and no more is needed than it says", () => {
    fc.assert(
      fc.property(secret, tail, ({ text }, more) => {
        for (const format of KNOWN_FORMATS) expectSteady(format, text + more);
      }),
      { seed: 20_261_115, numRuns: 60 },
    );
  });
});

/** What a format makes of each of its triggers in a text. */
function readings(format: Format, text: string): readonly Reading[] {
  return triggersIn(format, text).map(({ start, at }) => format.read(text, start, at, true));
}

/** An answer given on the beginning of a text stays the answer when the rest is known. */
function expectSteady(format: Format, text: string): void {
  for (const { start, at } of triggersIn(format, text)) {
    let answer: Reading | undefined;
    for (let end = at; end <= text.length; end += 1) {
      const reading = format.read(text.slice(0, end), start, at, false);
      if (answer) expect(sized(reading)).toEqual(sized(answer));
      if (reading.is !== "open") answer = reading;
      else expect(end - at).toBeLessThanOrEqual(format.reach);
    }
    const final = format.read(text, start, at, true);
    expect(final.is).not.toBe("open");
    if (answer) expect(sized(final)).toEqual(sized(answer));
  }
}

/** Where a secret begins; its end may be told later, if it has a rest. */
function sized(reading: Reading): unknown {
  if (reading.is !== "secret") return reading;
  return reading.rest ? [reading.from, reading.rest] : [reading.from, reading.to];
}

function triggersIn(format: Format, text: string): readonly { start: number; at: number }[] {
  return format.triggers.flatMap((codes) =>
    Array.from({ length: text.length }, (_, start) => ({ start, at: start + codes.length })).filter(
      ({ start, at }) =>
        at <= text.length &&
        codes.every((some, index) => some.includes(text.charCodeAt(start + index))) &&
        suits(format, text, start),
    ),
  );
}
