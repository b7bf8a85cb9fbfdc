import { createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { KeyedHash } from "./keyed-hash.ts";

test("the first two cases of RFC 4231", () => {
  expect(new KeyedHash(Buffer.alloc(20, 0x0b)).of("Hi There")).toBe(
    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
  );
  expect(new KeyedHash(Buffer.from("Jefe")).of("what do ya want for nothing?")).toBe(
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  );
});

test("any text has the hash that the platform gives it, whatever was hashed before", () => {
  const key = fc.uint8Array({ minLength: 1, maxLength: 64 });
  const texts = fc.array(fc.string({ unit: "binary", size: "medium" }), { minLength: 1 });
  fc.assert(
    fc.property(key, texts, (bytes, all) => {
      const hash = new KeyedHash(Buffer.from(bytes));
      for (const text of all)
        expect(hash.of(text)).toBe(createHmac("sha256", bytes).update(text).digest("hex"));
    }),
  );
});

test.each([2_730, 2_731, 8_192, 100_000])(
  "a text of %i characters, however many bytes they take",
  (length) => {
    const bytes = Buffer.alloc(32, 7);
    for (const character of ["a", "é", "€", "\ud800"]) {
      const text = character.repeat(length);
      expect(new KeyedHash(bytes).of(text)).toBe(createHmac("sha256", bytes).update(text).digest("hex"));
    }
  },
);
