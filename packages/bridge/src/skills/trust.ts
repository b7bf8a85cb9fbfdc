import type { Bundle } from "./bundle.ts";
import { checkSignature, type SignatureCheck, type TrustedSigners } from "./signature.ts";
import type { SkillFields, SkillTrust } from "./skill.ts";

/** On whose word skills are used. */
export interface TrustSettings {
  readonly signers: TrustedSigners;
  /** The person who has trusted a content, by its digest. */
  readonly grantOf: (digest: string) => string | undefined;
  /** Whether every skill of a folder needs the signature of a trusted signer. */
  readonly requireSignatures: boolean;
}

/** What trust in a skill depends on. */
export interface TrustQuestion {
  readonly name: string;
  readonly fields: Pick<SkillFields, "requireSignature" | "trustedSigners">;
  readonly bundle: Bundle;
  /** Whether it comes with the workspace, and so is the word of a repository. */
  readonly fromWorkspace: boolean;
}

/**
 * Decides whether a skill may be used. A signature and a grant count for the content that they name: a file that is
 * changed, added or removed ends both. A signature that does not hold is worse than none.
 */
export async function trustIn(question: TrustQuestion, settings: TrustSettings): Promise<SkillTrust> {
  const { name, fields, bundle, fromWorkspace } = question;
  const check = await checkSignature(bundle, name, settings.signers);
  if (check.kind === "invalid") return untrusted(check.reason);
  const signer = signerIn(check, fields.trustedSigners);
  if (signer !== undefined) return { status: "trusted", by: "signature", signer };
  if (fields.requireSignature || settings.requireSignatures)
    return untrusted(`it needs a signature: ${unsignedReason(check)}`);
  if (!fromWorkspace) return { status: "trusted", by: "operator" };
  const [fault] = bundle.faults;
  if (fault !== undefined)
    return untrusted(`it comes with the workspace and cannot be trusted as a whole: ${fault}`);
  const who = settings.grantOf(bundle.digest);
  if (who !== undefined) return { status: "trusted", by: "grant", who };
  return untrusted("it comes with the workspace, and no person or trusted signer has trusted this content");
}

function untrusted(reason: string): SkillTrust {
  return { status: "untrusted", reason };
}

function signerIn(check: SignatureCheck, only: readonly string[]): string | undefined {
  if (check.kind !== "valid") return undefined;
  return only.length === 0 || only.includes(check.signer) ? check.signer : undefined;
}

function unsignedReason(check: SignatureCheck): string {
  if (check.kind === "unsigned") return "it has none";
  if (check.kind === "unknown_signer") return `its signer ${check.signer} is not trusted`;
  return "its signer is not one that the skill names";
}
