import fc from "fast-check";
import { expect, it } from "vitest";
import { isHex, readHex, toHex } from "./hex.ts";

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
