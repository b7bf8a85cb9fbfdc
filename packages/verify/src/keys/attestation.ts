import { fromBase64 } from "../bytes/base64.ts";
import { utf8 } from "../bytes/bytes.ts";
import type { Content } from "../entry/content.ts";
import type { Entry } from "../entry/entry.ts";
import type { Attestation } from "../entry/proof.ts";
import { isAttested } from "../entry/quality.ts";
import type { Complaint } from "../report/fault.ts";
import type { SignatureChecker } from "../signature/checker.ts";
import type { Key } from "./key.ts";

/** Complains when an entry has to be signed and is not. A malformed proof is complained about elsewhere. */
export function missingAttestation({ quality, proof }: Entry): Complaint | undefined {
  if (!isAttested(quality) || (proof !== null && proof.type !== "zk_stark")) return undefined;
  return {
    code: "attestation_missing",
    message: `an entry of quality ${quality} has to be signed and is not`,
    expected: "an attestation",
    found: proof === null ? "null" : "zk_stark",
  };
}

/** Complains when a key signs for somebody else than its holder. */
export function wrongHolder({ actor }: Entry, { holder }: Key): Complaint | undefined {
  if (actor === holder) return undefined;
  return {
    code: "key_holder",
    message: "the entry is signed with somebody else's key",
    expected: `a key of ${actor}`,
    found: `a key of ${holder}`,
  };
}

/** Complains when the signature is not the key's over the entry. */
export async function wrongSignature(
  attestation: Attestation,
  content: Content,
  key: Key,
  checker: SignatureChecker,
): Promise<Complaint | undefined> {
  const signature = fromBase64(attestation.signature) ?? new Uint8Array(64);
  const message = utf8(content.attested());
  if (await checker.check({ publicKey: key.publicKey, signature, message })) return undefined;
  return {
    code: "signature_invalid",
    message: "the signature does not belong to the entry: the entry, the key or the signature was changed",
    expected: `a signature with the key ${key.id} of ${key.holder}`,
  };
}
