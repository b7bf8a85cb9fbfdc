import { createPrivateKey, createPublicKey, hash, type KeyObject, sign } from "node:crypto";
import { blake3 } from "@noble/hashes/blake3.js";

const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** BLAKE3-256 by another library than the verifier's. */
export function blake3Hex(bytes: Uint8Array): string {
  return Buffer.from(blake3(bytes)).toString("hex");
}

/** A holder of an Ed25519 key. */
export class Signer {
  readonly holder: string;
  readonly publicKey: Buffer;
  readonly #privateKey: KeyObject;

  /** The same holder and number always have the same key. */
  constructor(holder: string, number = 0) {
    this.holder = holder;
    const seed = hash("sha256", `${holder}\n${number}`, "buffer");
    this.#privateKey = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
    this.publicKey = Buffer.from(
      createPublicKey(this.#privateKey).export({ format: "jwk" }).x ?? "",
      "base64url",
    );
  }

  get keyId(): string {
    return blake3Hex(this.publicKey).slice(0, 16);
  }

  sign(text: string): Buffer {
    return sign(null, Buffer.from(text), this.#privateKey);
  }

  /** The four bytes that stand for this key in a note. */
  noteHash(name: string): Buffer {
    const text = Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(1), this.publicKey]);
    return hash("sha256", text, "buffer").subarray(0, 4);
  }

  /** The key in the form of C2SP. */
  verifierKey(name: string): string {
    const key = Buffer.concat([Buffer.of(1), this.publicKey]).toString("base64");
    return `${name}+${this.noteHash(name).toString("hex")}+${key}`;
  }

  /** A checkpoint as a signed note. */
  checkpoint(origin: string, size: number, root: Uint8Array): string {
    const text = `${origin}\n${size}\n${Buffer.from(root).toString("base64")}\n`;
    const blob = Buffer.concat([this.noteHash(origin), this.sign(text)]).toString("base64");
    return `${text}\n\u2014 ${origin} ${blob}\n`;
  }
}
