import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBase64, fromBase64Url, isHex, readHex, toBase64, toHex } from "./bytes.ts";

it("reads and writes what Node writes and reads", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const text = Buffer.from(bytes).toString("hex");
      expect(toHex(bytes)).toBe(text);
      expect(isHex(text, bytes.length * 2)).toBe(true);
      const read = new Uint8Array(bytes.length);
      readHex(text, read);
      expect(read).toEqual(bytes);
    }),
  );
});

it.each(["AA", "0g", "0", "000", " 0", "0`", "0:", "0/"])("refuses %j as two digits", (text) => {
  expect(isHex(text, 2)).toBe(false);
});

it("reads and writes what Node writes and reads", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const text = Buffer.from(bytes).toString("base64");
      expect(toBase64(bytes)).toBe(text);
      expect(fromBase64(text)).toEqual(bytes);
      expect(fromBase64Url(Buffer.from(bytes).toString("base64url"))).toEqual(bytes);
    }),
  );
});

describe("the one way to write bytes", () => {
  it.each([
    "A",
    "AA",
    "AAA",
    "AB==",
    "AAB=",
    "A===",
    "AA=A",
    "A A=",
    "AA==\n",
    "AAA-",
    "====",
    "AA==AAAA",
    "AÄ==",
  ])("refuses %j", (text) => {
    expect(fromBase64(text)).toBeUndefined();
  });

  it.each(["A", "AB", "AAB", "AA==", "AA+A", "AA/A"])("refuses %j as base64url", (text) => {
    expect(fromBase64Url(text)).toBeUndefined();
  });
});
