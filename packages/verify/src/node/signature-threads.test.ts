import { generateKeyPairSync, sign } from "node:crypto";
import { expect, it } from "vitest";
import { SignatureThreads } from "./signature-threads.ts";

it("starts no thread for what waits when it is closed", async () => {
  const { publicKey: key, privateKey } = generateKeyPairSync("ed25519");
  const message = new TextEncoder().encode("said");
  const signature = new Uint8Array(sign(null, message, privateKey));
  const publicKey = new Uint8Array(Buffer.from(key.export({ format: "jwk" }).x ?? "", "base64url"));
  const threads = new SignatureThreads();
  // The first thousand are checked without threads.
  const checks = Array.from({ length: 1_001 }, () => threads.check({ publicKey, signature, message }));
  const [late = Promise.resolve(true)] = checks.splice(-1);
  const refused = expect(late).rejects.toThrow("ended");
  await threads.close();
  await refused;
  expect(await Promise.all(checks)).not.toContain(false);
});
