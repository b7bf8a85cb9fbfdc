import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { privateKeyFrom, publicBytesOf } from "../keys/signer.ts";
import { decrypt, encrypt, NONCE_LENGTH, sharedSecret, wrappingKey } from "./encryption.ts";

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

const hex = (text: string) => Buffer.from(text, "hex");
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

it("two sides agree on the secret of RFC 7748, section 6.1", () => {
  const alice = hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
  const bob = hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
  const alicePublic = publicBytesOf(privateKeyFrom("X25519", alice));
  const bobPublic = publicBytesOf(privateKeyFrom("X25519", bob));
  expect(textOf(alicePublic)).toBe("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
  expect(textOf(bobPublic)).toBe("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  const secret = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";
  expect(textOf(sharedSecret(alice, bobPublic))).toBe(secret);
  expect(textOf(sharedSecret(bob, alicePublic))).toBe(secret);
});

/** HKDF-SHA256 as RFC 5869 writes it down, from nothing but HMAC. */
function hkdfByHand(secret: Uint8Array, salt: Uint8Array, info: Uint8Array, length: number): Buffer {
  const hmac = (key: Uint8Array, ...parts: Uint8Array[]) =>
    createHmac("sha256", key).update(Buffer.concat(parts)).digest();
  const pseudorandom = hmac(salt, secret);
  let [output, block] = [Buffer.alloc(0), Buffer.alloc(0)];
  for (let counter = 1; output.length < length; counter += 1) {
    block = hmac(pseudorandom, block, info, Buffer.of(counter));
    output = Buffer.concat([output, block]);
  }
  return output.subarray(0, length);
}

it("the wrapping key is the HKDF of RFC 5869 over secret, both public keys and the label", () => {
  const testCase1 = hkdfByHand(
    Buffer.alloc(22, 0x0b),
    hex("000102030405060708090a0b0c"),
    hex("f0f1f2f3f4f5f6f7f8f9"),
    42,
  );
  expect(textOf(testCase1)).toBe(
    "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
  );

  const secret = Buffer.alloc(32, 1);
  const ephemeral = Buffer.alloc(32, 2);
  const audience = Buffer.alloc(32, 3);
  const expected = hkdfByHand(
    secret,
    Buffer.concat([ephemeral, audience]),
    Buffer.from("reins seal v1\nauditors é"),
    32,
  );
  expect(textOf(wrappingKey(secret, { ephemeral, audience, label: "auditors é" }))).toBe(textOf(expected));
});
