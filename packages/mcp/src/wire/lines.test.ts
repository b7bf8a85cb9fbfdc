import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Lines } from "./lines.ts";

/** Cuts bytes into lines, delivered in pieces of that size. */
function cut(bytes: Buffer, size: number, maxBytes = 1_000) {
  const heard: unknown[] = [];
  const sink = {
    line: (text: string) => heard.push(text),
    refused: (...fault: unknown[]) => heard.push(fault),
  };
  const lines = new Lines(sink, maxBytes);
  for (let start = 0; start < bytes.length; start += size) lines.push(bytes.subarray(start, start + size));
  lines.end();
  return heard;
}

describe("lines", () => {
  test("are the same however the bytes come", () => {
    const line = fc.string({ unit: "grapheme" }).map((text) => text.replace(/[\r\n]/g, "").trim());
    fc.assert(
      fc.property(fc.array(line), fc.integer({ min: 1, max: 20 }), (texts, size) => {
        const bytes = Buffer.from(texts.join("\n"));
        expect(cut(bytes, size, 10_000)).toEqual(texts.filter((text) => text !== ""));
      }),
    );
  });

  test("may end as on Windows, and the last need not end at all", () => {
    expect(cut(Buffer.from("a\r\n\r\n b \nc"), 3)).toEqual(["a", "b", "c"]);
  });

  test("that are not UTF-8 are refused, and the next is read", () => {
    expect(cut(Buffer.from([0xff, 0x0a, 0x61, 0x0a]), 1)).toEqual([["invalid_utf8", undefined], "a"]);
  });

  const long = "x".repeat(2_000);
  test.each([
    [`{"jsonrpc":"2.0","id":7,"result":"${long}"}`, 7],
    [`{"id": "seven", "jsonrpc":"2.0","result":"${long}"}`, "seven"],
    [`{"result":{"id":3,"text":"${long}"},"jsonrpc":"2.0","id":-7}`, -7],
    [`{"result":"${long}","id":0,"jsonrpc":"2.0"} `, 0],
    [`{"result":{"text":"${long}","id":3}}`, undefined],
    [`{"method":"${long}"}`, undefined],
    [`{"id":007,"x":"${long}"}`, undefined],
    [`{"id":"a\\u0000","x":"${long}"}`, undefined],
  ])("that are too long are refused with the id they answer, where it can be seen: %.40s…", (line, id) => {
    for (const size of [1, 333, 5_000]) {
      expect(cut(Buffer.from(`a\n${line}\nb\n`), size)).toEqual(["a", ["too_large", id], "b"]);
    }
  });
});
