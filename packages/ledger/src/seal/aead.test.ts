import { expect, it } from "vitest";
import { decrypt, encrypt, NONCE_LENGTH } from "./aead.ts";

const ZERO_KEY = new Uint8Array(32);
const ZERO_NONCE = new Uint8Array(NONCE_LENGTH);
const NOTHING = new Uint8Array();

/** The Galois/Counter Mode of Operation (GCM), test cases 13 and 14. */
it.each([
  [0, "", "530f8afbc74536b9a963b4f1c4cb738b"],
  [16, "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"],
])("encrypts %i zero bytes as GCM's authors did", (length, ciphertext, tag) => {
  const sealed = encrypt(ZERO_KEY, ZERO_NONCE, new Uint8Array(length), NOTHING);
  expect(sealed.toString("hex")).toBe(`${"00".repeat(NONCE_LENGTH)}${ciphertext}${tag}`);
  expect(decrypt(ZERO_KEY, sealed, NOTHING)).toEqual(Buffer.alloc(length));
});

it("opens nothing that is too short, or bound to something else", () => {
  const sealed = encrypt(ZERO_KEY, ZERO_NONCE, Buffer.from("text"), Buffer.from("here"));
  expect(decrypt(ZERO_KEY, sealed, Buffer.from("here"))?.toString()).toBe("text");
  expect(decrypt(ZERO_KEY, sealed, Buffer.from("there"))).toBeUndefined();
  for (let length = 0; length < sealed.length; length += 1)
    expect(decrypt(ZERO_KEY, sealed.subarray(0, length), Buffer.from("here"))).toBeUndefined();
});
