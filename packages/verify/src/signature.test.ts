import { describe, expect, it } from "vitest";
import type { Bytes } from "./bytes.ts";
import { webCrypto } from "./signature.ts";

describe("RFC 8032, §7.1", () => {
  it.each([
    [
      "TEST 1",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
      "TEST 2",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
      "TEST 3",
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
      "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
  ])("%s", async (_, publicKey, message, signature) => {
    const claim = { publicKey: hex(publicKey), message: hex(message), signature: hex(signature) };
    expect(await webCrypto.check(claim)).toBe(true);
    expect(await webCrypto.check({ ...claim, message: hex(`${message}00`) })).toBe(false);
    for (const index of [0, 31, 32, 63]) {
      const changed = claim.signature.with(index, (claim.signature[index] ?? 0) ^ 1);
      expect(await webCrypto.check({ ...claim, signature: new Uint8Array(changed) })).toBe(false);
    }
  });

  it("refuses a signature whose second half is not reduced, which would be a second one for the same message", async () => {
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const signature = hex(
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    );
    const second = BigInt(`0x${Buffer.from(signature.slice(32)).reverse().toString("hex")}`) + order;
    signature.set(Buffer.from(second.toString(16).padStart(64, "0"), "hex").reverse(), 32);
    const publicKey = hex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    expect(await webCrypto.check({ publicKey, message: hex(""), signature })).toBe(false);
  });
});

function hex(text: string): Bytes {
  return new Uint8Array(Buffer.from(text, "hex"));
}
