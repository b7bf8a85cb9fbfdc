import { describe, expect, it } from "vitest";
import { rejectionOf } from "../../test/rejection.ts";
import { blake3Hex } from "../canonical.ts";
import { privateKeyFrom, signerFrom, verifySignature } from "./signer.ts";

const hex = (text: string) => Buffer.from(text, "hex");

/** RFC 8032, section 7.1: tests 1, 2, 3 and SHA(abc). */
const RFC_8032 = [
  {
    seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    message: "",
    signature:
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  },
  {
    seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    message: "72",
    signature:
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  },
  {
    seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    message: "af82",
    signature:
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  },
  {
    seed: "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
    publicKey: "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
    message:
      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    signature:
      "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
  },
];

const signerOf = (seed: string) => signerFrom("agent-7", privateKeyFrom(hex(seed)), false);

describe("a signer", () => {
  it.each(RFC_8032)("signs as RFC 8032 says: $message", ({ seed, publicKey, message, signature }) => {
    const signer = signerOf(seed);
    expect(Buffer.from(signer.publicKey).toString("hex")).toBe(publicKey);
    expect(Buffer.from(signer.sign(hex(message))).toString("hex")).toBe(signature);
    expect(verifySignature(hex(publicKey), hex(message), hex(signature))).toBe(true);
    expect(verifySignature(hex(publicKey), hex(`${message}00`), hex(signature))).toBe(false);
  });

  it("is named by the hash of its public key", () => {
    const signer = signerOf(RFC_8032[0]!.seed);
    expect(signer.keyId).toBe(blake3Hex(signer.publicKey).slice(0, 16));
    expect(signer.keyId).toMatch(/^[0-9a-f]{16}$/);
  });

  it("does not show its secret when it is printed", () => {
    const { seed } = RFC_8032[0]!;
    const printed = JSON.stringify(signerOf(seed));
    expect(printed).not.toContain(seed);
    expect(printed).not.toContain(hex(seed).toString("base64"));
    expect(JSON.parse(printed).privateKey).toEqual({});
  });
});

describe("a key", () => {
  it.each([0, 31, 33])("is not made of %i bytes", async (length) => {
    const error = await rejectionOf(() => privateKeyFrom(new Uint8Array(length)));
    expect(error).toMatchObject({ code: "invalid", message: expect.stringContaining("32 bytes") });
  });
});
