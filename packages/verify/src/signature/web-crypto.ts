import type { Bytes } from "../bytes/bytes.ts";
import { VerifyError } from "../verify-error.ts";
import type { SignatureChecker } from "./checker.ts";

type ImportedKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const ALGORITHM = "Ed25519";

/** Keys as WebCrypto wants them, by the bytes they came from. */
const imported = new WeakMap<Bytes, Promise<ImportedKey>>();

/** Checks signatures with WebCrypto, which browsers and Node have alike. */
export const webCrypto: SignatureChecker = {
  async check({ publicKey, signature, message }) {
    return crypto.subtle.verify(ALGORITHM, await keyOf(publicKey), signature, message);
  },
};

function keyOf(publicKey: Bytes): Promise<ImportedKey> {
  const known = imported.get(publicKey);
  if (known !== undefined) return known;
  const key = importKey(publicKey);
  imported.set(publicKey, key);
  return key;
}

async function importKey(publicKey: Bytes): Promise<ImportedKey> {
  try {
    return await crypto.subtle.importKey("raw", publicKey, ALGORITHM, false, ["verify"]);
  } catch (cause) {
    throw new VerifyError(
      "no_webcrypto",
      "Signatures cannot be checked here: Ed25519 of WebCrypto is missing. Pages need HTTPS or localhost for it.",
      { cause },
    );
  }
}
