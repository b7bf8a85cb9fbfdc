import { expect, it } from "vitest";
import { inPieces } from "../../test/read.ts";
import { type Line, linesOfBytes } from "./read.ts";

async function linesIn(bytes: Uint8Array, size: number, limit?: number): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const batch of linesOfBytes(inPieces(bytes, size), limit)) lines.push(...batch);
  return lines;
}

it.each([1, 2, 3, 5, 100])("cuts bytes in pieces of %i into lines, characters whole", async (size) => {
  const text = "ä€😂\n\nsecond\r\nlast";
  expect(await linesIn(Buffer.from(text), size)).toEqual(["ä€😂", "", "second\r", "last"]);
});

it("does not care what becomes of the pieces afterwards", async () => {
  async function* reused() {
    const piece = Buffer.alloc(3);
    for (const text of ["abc", "de\n", "fgh", "ij\n"]) {
      piece.write(text);
      yield piece;
    }
  }
  const lines: Line[] = [];
  for await (const batch of linesOfBytes(reused())) lines.push(...batch);
  expect(lines).toEqual(["abcde", "fghij"]);
});

it("continues after a line that is not UTF-8", async () => {
  const bytes = Buffer.concat([Buffer.from("one\n"), Buffer.of(0xc3, 0x28, 0x0a), Buffer.from("three\n")]);
  expect(await linesIn(bytes, 2)).toMatchObject(["one", { code: "line_not_utf8" }, "three"]);
});

it("ends at a line that is longer than memory should hold", async () => {
  const bytes = Buffer.from(`short\n${"x".repeat(1_000)}\nshort\n`);
  expect(await linesIn(bytes, 100, 500)).toMatchObject(["short", { code: "line_too_long" }]);
});
