import { array, assert, integer, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputBuffer } from "./run-program.ts";

function kept(pieces: readonly string[], head: number, tail: number): OutputBuffer {
  const output = new OutputBuffer(head, tail);
  for (const piece of pieces) output.add(Buffer.from(piece));
  return output;
}

describe("the output of a program", () => {
  it("is kept whole while it fits", () => {
    expect(kept(["one ", "two"], 4, 3).text).toBe("one two");
    expect(kept([], 4, 4).text).toBe("");
  });

  it("loses its middle when it does not fit, with a note of the size", () => {
    const output = kept(["beginning", "x".repeat(1_000), "end"], 9, 3);
    expect(output.text).toBe("beginning\n[1000 bytes left out]\nend");
    expect(output.total).toBe(1_012);
  });

  it("keeps its start and end, whatever the size of the chunks", () => {
    const ascii = string({ unit: "grapheme-ascii" });
    assert(
      property(
        array(ascii),
        integer({ min: 1, max: 20 }),
        integer({ min: 1, max: 20 }),
        (pieces, head, tail) => {
          const whole = pieces.join("");
          const { text } = kept(pieces, head, tail);
          if (whole.length <= head + tail) return text === whole;
          return text.startsWith(whole.slice(0, head)) && text.endsWith(whole.slice(-tail));
        },
      ),
    );
  });
});
