import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rejectionOf } from "../../test/rejection.ts";
import { canonicalJson } from "../canonical.ts";
import type { Envelope } from "../entry.ts";
import { keyIdOf, privateKeyFrom, publicBytesOf } from "../keys/signer.ts";
import { encrypt, parseEncryptedKey, printEncryptedKey, sharedSecret, wrappingKey } from "./encryption.ts";
import {
  type AudienceKey,
  additionalDataOf,
  openWith,
  type SealedContext,
  sealFor,
  sealingKeyOf,
} from "./seal.ts";

const RUNS = { seed: 20_261_115, numRuns: 150 };

const CONTEXT: SealedContext = {
  actor: "agent-7",
  entity_id: "session-1",
  quality: "tool_result",
  target: "fs",
  timestamp: "2026-11-15T05:20:00.000Z",
};

/** Bob of RFC 7748. */
const KEY = audienceKey("auditors é", "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
const PAYLOAD = { text: "geheim 🔒", list: [1, true, null] };

function audienceKey(label: string, privateHex: string): AudienceKey {
  const privateKey = Buffer.from(privateHex, "hex");
  const publicKey = publicBytesOf(privateKeyFrom("X25519", privateKey));
  return { label, keyId: keyIdOf(publicKey), publicKey, privateKey };
}

/** Bytes that are all 1 the first time, all 2 the second, and so on. */
function countingBytes(): (size: number) => Uint8Array {
  let calls = 0;
  return (size) => {
    calls += 1;
    return new Uint8Array(size).fill(calls);
  };
}

describe("a sealed payload", () => {
  it("is, to the byte, what another implementation of the format makes", () => {
    expect(sealFor(KEY, PAYLOAD, CONTEXT, countingBytes())).toEqual({
      audience_label: "auditors é",
      encrypted_key: `v1.${KEY.keyId}.pOCSkrZRwni5dyxWn1-puxPZBrRqtoyd-dwrRAn4ogk.AwMDAwMDAwMDAwMDMPgtYMtzFK4gFaHBnQa3e7ie8_vPnyMokZAEbv1_ZUx7VQ9IGgakcFnmBmQ5J3eZ`,
      ciphertext:
        "BAQEBAQEBAQEBAQEf269Z40_smDGb_uUxDZ8inXHtaXfB7kP27pM-_GZbrxa219M7YONzZzr229w94Dn1fU02GCd_GvKU2s",
    });
  });

  it("opens to what it was, whatever it was", () => {
    const payloads = fc.jsonValue({ maxDepth: 4, stringUnit: "grapheme" });
    fc.assert(
      fc.property(payloads, fc.string({ unit: "grapheme", minLength: 1 }), (payload, label) => {
        const key = { ...KEY, label };
        const opened = openWith(key, sealFor(key, payload, CONTEXT), CONTEXT);
        expect(canonicalJson(opened)).toBe(canonicalJson(payload));
      }),
      RUNS,
    );
  });

  it("never looks the same twice", () => {
    const [first, second] = [sealFor(KEY, PAYLOAD, CONTEXT), sealFor(KEY, PAYLOAD, CONTEXT)];
    expect(first.encrypted_key).not.toBe(second.encrypted_key);
    expect(first.ciphertext).not.toBe(second.ciphertext);
  });

  it("names its key", () => {
    expect(sealingKeyOf(sealFor(KEY, PAYLOAD, CONTEXT))).toBe(KEY.keyId);
  });

  it("refuses what is not JSON", async () => {
    for (const payload of [undefined, new Map(), Number.NaN, "\ud800", { now: new Date(0) }])
      expect((await rejectionOf(() => sealFor(KEY, payload, CONTEXT))).code).toBe("invalid");
  });
});

describe("an envelope does not open", () => {
  const envelope = sealFor(KEY, PAYLOAD, CONTEXT, countingBytes());

  async function refused(changed: Envelope, context = CONTEXT, key = KEY): Promise<string> {
    const error = await rejectionOf(() => openWith(key, changed, context));
    expect(error.code).toBe("unreadable");
    return error.message;
  }

  it("once any character of its strings is another", async () => {
    const members = fc.constantFrom("audience_label", "encrypted_key", "ciphertext");
    await fc.assert(
      fc.asyncProperty(
        members,
        fc.nat(),
        fc.string({ minLength: 1, maxLength: 1 }),
        async (member, at, character) => {
          const text = envelope[member];
          const index = at % text.length;
          fc.pre(text[index] !== character);
          await refused({ ...envelope, [member]: text.slice(0, index) + character + text.slice(index + 1) });
        },
      ),
      { ...RUNS, numRuns: 600 },
    );
  });

  it("once any bit of its bytes is another", async () => {
    const parts = parseEncryptedKey(envelope.encrypted_key)!;
    const flipped = (bytes: Uint8Array, bit: number) => {
      const copy = Uint8Array.from(bytes);
      copy[bit >> 3]! ^= 1 << (bit & 7);
      return copy;
    };
    for (let bit = 0; bit < parts.wrapped.length * 8; bit += 1) {
      const encrypted_key = printEncryptedKey({ ...parts, wrapped: flipped(parts.wrapped, bit) });
      await refused({ ...envelope, encrypted_key });
    }
    for (let bit = 0; bit < 256; bit += 1) {
      const encrypted_key = printEncryptedKey({ ...parts, ephemeral: flipped(parts.ephemeral, bit) });
      await refused({ ...envelope, encrypted_key });
    }
    const ciphertext = Buffer.from(envelope.ciphertext, "base64url");
    for (let bit = 0; bit < ciphertext.length * 8; bit += 1)
      await refused({ ...envelope, ciphertext: Buffer.from(flipped(ciphertext, bit)).toString("base64url") });
  });

  it("in another entry", async () => {
    const moved: Partial<SealedContext>[] = [
      { actor: "agent-8" },
      { entity_id: "session-2" },
      { quality: "turn" },
      { target: "net" },
      { timestamp: "2026-11-15T05:20:00.001Z" },
    ];
    for (const change of moved)
      expect(await refused(envelope, { ...CONTEXT, ...change })).toContain("another entry");
  });

  it("for another audience, even under its label or key id", async () => {
    const other = audienceKey("others", "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
    await refused(envelope, CONTEXT, other);
    await refused(envelope, CONTEXT, { ...other, label: KEY.label });
    await refused(envelope, CONTEXT, { ...other, label: KEY.label, keyId: KEY.keyId });
    await refused({ ...envelope, audience_label: "others" }, CONTEXT, { ...KEY, label: "others" });
    const relabelled = { ...envelope, audience_label: "others" };
    expect(await refused(relabelled)).toContain("sealed for others");
  });

  it("with the ciphertext of another", async () => {
    const other = sealFor(KEY, PAYLOAD, CONTEXT);
    await refused({ ...envelope, ciphertext: other.ciphertext });
    await refused({ ...envelope, encrypted_key: other.encrypted_key });
  });

  it("with a content key that is none", async () => {
    const parts = parseEncryptedKey(envelope.encrypted_key)!;
    const secret = sharedSecret(KEY.privateKey, parts.ephemeral);
    const parties = { ephemeral: parts.ephemeral, audience: KEY.publicKey, label: KEY.label };
    const wrapped = encrypt(
      wrappingKey(secret, parties),
      new Uint8Array(12),
      new Uint8Array(16),
      new Uint8Array(),
    );
    await refused({ ...envelope, encrypted_key: printEncryptedKey({ ...parts, wrapped }) });
  });

  it("with an ephemeral key of low order", async () => {
    const parts = parseEncryptedKey(envelope.encrypted_key)!;
    for (const first of [0, 1]) {
      const ephemeral = new Uint8Array(32);
      ephemeral[0] = first;
      await refused({ ...envelope, encrypted_key: printEncryptedKey({ ...parts, ephemeral }) });
    }
  });

  it.each([
    ["no version", { encrypted_key: envelope.encrypted_key.slice(3) }],
    ["another version", { encrypted_key: envelope.encrypted_key.replace("v1.", "v2.") }],
    ["a part too many", { encrypted_key: `${envelope.encrypted_key}.AA` }],
    ["padding", { ciphertext: `${envelope.ciphertext}=` }],
    ["a line break", { ciphertext: `${envelope.ciphertext}\n` }],
    ["nothing in it", { ciphertext: "" }],
    ["no label", { audience_label: "" }],
    ["half a label", { audience_label: "\ud800" }],
  ])("with %s", async (_, change) => {
    await refused({ ...envelope, ...change });
  });

  it("when it is no envelope at all", async () => {
    for (const shape of [null, "text", {}, { ...envelope, ciphertext: 7 }, { ...envelope, more: "" }]) {
      // @ts-expect-error what comes from outside may have any shape
      const error = await rejectionOf(() => openWith(KEY, shape, CONTEXT));
      expect(error.code).toBe("unreadable");
    }
  });

  it.each(["{not json", '{"b":1,"a":2}', '{"a":1,"a":1}', `${"[".repeat(70)}${"]".repeat(70)}`])(
    "when what was sealed is nothing that an entry can hold: %s",
    async (text) => {
      const contentKey = new Uint8Array(32).fill(2);
      const nonce = new Uint8Array(12).fill(4);
      const forged = encrypt(contentKey, nonce, Buffer.from(text), additionalDataOf(CONTEXT, KEY.label));
      expect(await refused({ ...envelope, ciphertext: forged.toString("base64url") })).toContain(
        "what was sealed",
      );
    },
  );
});
