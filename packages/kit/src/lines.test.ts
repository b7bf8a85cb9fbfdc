import { PassThrough, Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteBuffer, type CutLine, LineReader, LineWriter, messageIdIn } from "./lines.ts";

test("a byte buffer joins copies of its chunks and starts again after take and clear", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 5_000 })), (chunks) => {
      const buffer = new ByteBuffer();
      const expected = Buffer.concat(chunks);
      for (const chunk of chunks) {
        buffer.add(chunk);
        chunk.fill(0);
      }
      expect(buffer.length).toBe(expected.length);
      expect(buffer.take().equals(expected)).toBe(true);
      buffer.add(Buffer.from("x"));
      buffer.clear();
      expect([buffer.length, buffer.take().length]).toEqual([0, 0]);
    }),
  );
});

type Seen = string | readonly [fault: string, cut: CutLine];

function read(chunks: readonly (string | Buffer)[], maxBytes = 100): Seen[] {
  const seen: Seen[] = [];
  const reader = new LineReader(
    { line: (text) => seen.push(text), refused: (fault, cut) => seen.push([fault, cut]) },
    maxBytes,
  );
  // A chunk is overwritten after it was pushed, as a caller that reuses its buffer does.
  for (const chunk of chunks) {
    const bytes = Buffer.from(chunk);
    reader.push(bytes);
    bytes.fill("#");
  }
  reader.end();
  return seen;
}

function names(seen: readonly Seen[]): string[] {
  return seen.map((one) => (typeof one === "string" ? one : `<${one[0]}>`));
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...cuts, bytes.length].map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

const CUTS = fc.array(fc.nat(300), { maxLength: 12 });

describe("LineReader", () => {
  test("accepts LF and CRLF, skips empty lines, and needs no newline after the last", () => {
    expect(read(["a\nb\r\n\n\r\nc"])).toEqual(["a", "b", "c"]);
    expect(read(["a\r", "\nb\rc\r"])).toEqual(["a", "b\rc"]);
  });

  test("returns the same lines for all chunk borders, limits, line ends and invalid bytes", () => {
    const piece = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => Buffer.from(text.replace(/[\r\n]/g, ""))),
      fc.constantFrom(
        Buffer.from("\ufeff{}"),
        Buffer.from("x".repeat(60)),
        Buffer.from([0xff]),
        Buffer.from([0xc3]),
      ),
    );
    const line = fc.tuple(piece, fc.constantFrom("\n", "\r\n"));
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 10 }),
        CUTS,
        fc.integer({ min: 30, max: 80 }),
        (lines, cuts, limit) => {
          const bytes = Buffer.concat(lines.flatMap(([text, end]) => [text, Buffer.from(end)]));
          expect(read(cutAt(bytes, cuts), limit)).toEqual(read([bytes], limit));
          expect(
            read(
              [...bytes].map((byte) => Buffer.from([byte])),
              limit,
            ),
          ).toEqual(read([bytes], limit));
        },
      ),
    );
  });

  test("joins a character that two chunks share, and passes a byte order mark on", () => {
    const bytes = Buffer.from("\ufeffé😀\n");
    expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(["\ufeffé😀"]);
  });

  test("refuses a line beyond the limit and reads the next", () => {
    expect(names(read(["x".repeat(101), "y\nok\n"]))).toEqual(["<too_large>", "ok"]);
    expect(names(read([`a\n${"x".repeat(101)}\nok\n`]))).toEqual(["a", "<too_large>", "ok"]);
    expect(read([`${"x".repeat(100)}\nok\n`])).toEqual(["x".repeat(100), "ok"]);
    expect(names(read(["x".repeat(60), "x".repeat(60)]))).toEqual(["<too_large>"]);
  });

  test("refuses a line that is not UTF-8 and keeps its neighbours", () => {
    const half = Buffer.from("é").subarray(0, 1);
    expect(names(read(["a\n", half, "\nb\n"]))).toEqual(["a", "<invalid_utf8>", "b"]);
    const together = Buffer.concat([Buffer.from("a\n1\n"), half, Buffer.from("\n2\n")]);
    expect(names(read([together]))).toEqual(["a", "1", "<invalid_utf8>", "2"]);
  });
});

const LONG = "x".repeat(20_000);
test.each([
  [`{"jsonrpc":"2.0","id":7,"result":"${LONG}"}`, 7],
  [`{"id": "seven", "jsonrpc":"2.0","result":"${LONG}"}`, "seven"],
  [`{"jsonrpc":"2.0","method":"fs/read","id":8,"params":"${LONG}"}`, 8],
  [`{"result":{"id":3,"text":"${LONG}"},"jsonrpc":"2.0","id":-7}`, -7],
  [`{"params":"${LONG}","id":0,"jsonrpc":"2.0","method":"m"} `, 0],
  [`{"result":{"text":"${LONG}","id":3}}`, undefined],
  [`{"result":"${LONG},\\"id\\":3}"}`, undefined],
  [`{"params":{"id":3,"text":"${LONG}"}}`, undefined],
  [`{"method":"${LONG}"}`, undefined],
  [`{"id":007,"x":"${LONG}"}`, undefined],
  [`{"id":"a\\u0000","x":"${LONG}"}`, undefined],
])("finds the id of a message that is too long near one of its ends: %.50s…", (line, id) => {
  for (const size of [1, 333, 50_000]) {
    const bytes = Buffer.from(`a\n${line}\nb\n`);
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    const seen = read(chunks, 10_000);
    expect(names(seen)).toEqual(["a", "<too_large>", "b"]);
    expect(seen.flatMap((one) => (typeof one === "string" ? [] : [messageIdIn(one[1])]))).toEqual([id]);
  }
});

describe("LineWriter", () => {
  test("writes the first line at once and the rest of the tick together", async () => {
    const written: string[] = [];
    const stream = new Writable({
      write(chunk, _, done) {
        written.push(String(chunk));
        done();
      },
    });
    const writer = new LineWriter(stream);
    for (const line of ["a", "b", "c"]) expect(writer.write(line)).toBe(true);
    expect([written, writer.buffered]).toEqual([["a\n"], 4]);
    await new Promise(setImmediate);
    writer.write("d");
    expect(written).toEqual(["a\n", "b\nc\n", "d\n"]);
    await writer.finish();
    expect([writer.write("e"), stream.writableEnded]).toEqual([false, true]);
  });

  test("reports how much a peer that does not read has not taken", async () => {
    const stream = new PassThrough({ highWaterMark: 10 });
    const writer = new LineWriter(stream);
    writer.write("a");
    expect(writer.needsDrain).toBe(false);
    writer.write("x".repeat(9));
    expect(writer.needsDrain).toBe(true);
    await new Promise(setImmediate);
    expect([writer.needsDrain, writer.buffered > 0]).toEqual([true, true]);
    stream.resume();
    await new Promise(setImmediate);
    expect([writer.needsDrain, writer.buffered]).toEqual([false, 0]);
  });

  test("finishes with pending lines written, and can leave the stream open", async () => {
    const stream = new PassThrough();
    const writer = new LineWriter(stream);
    writer.write("a");
    writer.write("b");
    stream.setEncoding("utf8");
    await writer.finish(true);
    expect([stream.read(), stream.writableEnded]).toEqual(["a\nb\n", false]);
    stream.destroy();
    await writer.finish();
  });
});
