import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { parentPort } from "node:worker_threads";
import type { SignatureClaim } from "../signature.ts";

const keys = new Map<string, KeyObject>();

parentPort?.on("message", (claims: readonly SignatureClaim[]) => {
  parentPort?.postMessage(
    claims.map(({ publicKey, signature, message }) => verify(null, message, keyOf(publicKey), signature)),
  );
});

function keyOf(publicKey: Uint8Array): KeyObject {
  const x = Buffer.from(publicKey).toString("base64url");
  const known = keys.get(x);
  if (known !== undefined) return known;
  const key = createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x } });
  keys.set(x, key);
  return key;
}
