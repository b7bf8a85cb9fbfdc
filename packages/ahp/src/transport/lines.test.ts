import fc from "fast-check";
import { expect, test } from "vitest";
import { LineSplitter } from "./lines.ts";

function split(chunks: readonly (string | Buffer)[], maxBytes = 100): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter(
    { line: (text) => lines.push(text), refused: (fault) => lines.push(`<${fault}>`) },
    maxBytes,
  );
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  splitter.end();
  return lines;
}

test("lines end with a newline, CRLF is tolerated, blank lines are skipped, the last needs no end", () => {
  expect(split(["a\nb\r\n\n\r\nc"])).toEqual(["a", "b", "c"]);
});

test("it does not matter how the bytes come", () => {
  const line = fc
    .string({ unit: "grapheme", minLength: 1 })
    .filter((text) => !/[\r\n]/.test(text) && text.isWellFormed());
  const cuts = fc.array(fc.nat(200), { maxLength: 10 });
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), cuts, (lines, at) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
      const ends = [...at, bytes.length].map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b);
      const chunks = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
      expect(split(chunks, 10_000)).toEqual(lines);
    }),
  );
});

test("a line beyond the bound is thrown away whole and the next one is read", () => {
  expect(split(["x".repeat(101), "y\nok\n"])).toEqual(["<too_large>", "ok"]);
  expect(split([`a\n${"x".repeat(101)}\nok\n`])).toEqual(["a", "<too_large>", "ok"]);
  expect(split([`${"x".repeat(100)}\nok\n`])).toEqual(["x".repeat(100), "ok"]);
  expect(split(["x".repeat(60), "x".repeat(60)])).toEqual(["<too_large>"]);
});

test("a line that is not UTF-8 is thrown away alone", () => {
  const half = Buffer.from("é").subarray(0, 1);
  expect(split(["a\n", half, "\nb\n"])).toEqual(["a", "<invalid_utf8>", "b"]);
  expect(split([Buffer.concat([Buffer.from("a\n1\n"), half, Buffer.from("\n2\n")])])).toEqual([
    "a",
    "1",
    "<invalid_utf8>",
    "2",
  ]);
});

test("a character cut in two by the network is whole again", () => {
  const bytes = Buffer.from("é😀\n");
  expect(split([...bytes].map((byte) => Buffer.from([byte])))).toEqual(["é😀"]);
});

test("a line that comes byte by byte does not cost more than its bytes", () => {
  const crumbs = Array.from({ length: 5_000 }, () => "x");
  expect(split([...crumbs, "\n"], 10_000)).toEqual(["x".repeat(5_000)]);
});
