import type { Bundle } from "./bundle.ts";
import { checkSignature, type SignatureCheck, type TrustedSigners } from "./signature.ts";
import type { Skill, SkillFields, SkillTrust } from "./skill.ts";

/** What a grant is for: a content under one id in one layer. The same content under another id would be another skill. */
export interface SkillIdentity extends Pick<Skill, "id" | "layer"> {
  readonly digest: string;
}

/** On whose word skills are used. */
export interface TrustSettings {
  readonly signers: TrustedSigners;
  /** The person who has trusted a skill. */
  readonly grantOf: (skill: SkillIdentity) => string | undefined;
  /** Whether every skill of a folder needs the signature of a trusted signer. */
  readonly requireSignatures: boolean;
}

/** What trust in a skill depends on. */
export interface TrustQuestion extends Omit<SkillIdentity, "digest"> {
  readonly name: string;
  readonly fields: Pick<SkillFields, "requireSignature" | "trustedSigners">;
  readonly bundle: Bundle;
  /** Whether it comes with the workspace, and so is the word of a repository. */
  readonly fromWorkspace: boolean;
}

/**
 * Decides whether a skill may be used. A signature and a grant count for the name and the content that they are for: a
 * file that is changed, added or removed ends both, and so does another name. A signature that does not hold is worse than
 * none.
 */
export async function trustIn(question: TrustQuestion, settings: TrustSettings): Promise<SkillTrust> {
  const { id, layer, name, fields, bundle, fromWorkspace } = question;
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
  const who = settings.grantOf({ id, layer, digest: bundle.digest });
  if (who !== undefined) return { status: "trusted", by: "grant", who };
  return untrusted(
    "it comes with the workspace, and no person or trusted signer has trusted this content under this name",
  );
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
