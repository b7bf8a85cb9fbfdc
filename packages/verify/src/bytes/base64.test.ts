import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromBase64, fromBase64Url, toBase64 } from "./base64.ts";

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
