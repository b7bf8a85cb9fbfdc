import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { drawn, ordinaryCases, SURROUNDINGS, secretCases } from "../../test/secret-corpus.ts";
import { MARK } from "./format.ts";
import { Redactor } from "./redactor.ts";

const redactor = Redactor.create();

describe("the corpus of secrets", () => {
  const cases = secretCases();

  test("has well over twenty forms, each once", () => {
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
    expect(cases.length).toBeGreaterThan(100);
  });

  test.each(cases)("$id is taken out wherever it occurs", (one) => {
    for (const text of one.in ?? SURROUNDINGS) {
      for (const secret of fc.sample(drawn({ ...one, in: [text] }), { numRuns: 5, seed: 20_261_115 })) {
        const shown = redactor.text(secret.text);
        expect(shown).toContain(MARK);
        for (const part of secret.hidden) expect(shown).not.toContain(part);
      }
    }
  });

  test.each(cases.filter((one) => one.in === undefined))("$id leaves what surrounds it", (one) => {
    for (const text of SURROUNDINGS) {
      const [before = "", after = ""] = text.split("{}");
      for (const secret of fc.sample(drawn({ ...one, in: [text] }), { numRuns: 2, seed: 20_261_115 })) {
        const shown = redactor.text(secret.text);
        expect(shown.startsWith(before)).toBe(true);
        expect(shown.endsWith(after)).toBe(true);
      }
    }
  });
});

describe("the corpus of ordinary texts", () => {
  test.each(ordinaryCases())("$id stays as it is", ({ text }) => {
    expect(redactor.text(text)).toBe(text);
  });

  test.each(ordinaryCases())("$id stays as it is when it arrives in pieces", ({ text }) => {
    for (const size of [1, 3, 7, 40]) {
      const stream = redactor.stream();
      const shown = inPieces(text, size).map((piece) => stream.push(piece));
      expect(shown.join("") + stream.end()).toBe(text);
    }
  });

  test("nearly all stay as they are when there is a pause after every few characters", () => {
    const changed = ordinaryCases().filter(({ text }) => {
      const stream = redactor.stream();
      const shown = inPieces(text, 5).map((piece) => stream.push(piece) + stream.flush());
      return shown.join("") + stream.end() !== text;
    });
    expect(changed.length / ordinaryCases().length).toBeLessThan(0.05);
  });
});

function inPieces(text: string, size: number): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}
