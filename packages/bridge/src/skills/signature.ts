import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type FileStamps, ifExists, replaceFile } from "@reins/kit";
import { z } from "zod";
import { type Bundle, readPlainFile, SIGNATURE_FILE } from "./bundle.ts";
import { type Skill, SkillError, type SkillFields, type SkillTrust } from "./skill.ts";

const FORMAT = "reins-skill-sig/v1";
const MAX_KEY = 4_096;
const MAX_SIGNERS = 1_000;

const SignatureFile = z.object({
  format: z.literal(FORMAT),
  /** The fingerprint of the signer's key. */
  signer: z.string().regex(/^[0-9a-f]{64}$/),
  /** The name under which the skill was signed. */
  skill: z.string(),
  /** The digest of the bundle. */
  digest: z.string(),
  signature: z.base64(),
});

/** The keys whose signatures count, by their fingerprints. */
export type TrustedSigners = ReadonlyMap<string, KeyObject>;

/** What a bundle's signature is worth. */
export type SignatureCheck =
  | { readonly kind: "unsigned" }
  | { readonly kind: "valid"; readonly signer: string }
  /** Signed by a key that is not trusted here. */
  | { readonly kind: "unknown_signer"; readonly signer: string }
  | { readonly kind: "invalid"; readonly reason: string };

/** The name of a key: the SHA-256 of its public part. */
export function fingerprintOf(key: KeyObject): string {
  const shared = key.type === "private" ? createPublicKey(key) : key;
  return createHash("sha256")
    .update(shared.export({ type: "spki", format: "der" }))
    .digest("hex");
}

/** Reads the trusted signers of a folder: one Ed25519 key, as PEM, in each `<fingerprint>.pub`. */
export async function readTrustedSigners(folder: string, stamps?: FileStamps): Promise<TrustedSigners> {
  await stamps?.note(folder);
  const names = (await ifExists(readdir(folder))) ?? [];
  const signers = new Map<string, KeyObject>();
  for (const name of names.filter((one) => one.endsWith(".pub")).slice(0, MAX_SIGNERS)) {
    await stamps?.note(join(folder, name));
    const key = await publicKeyIn(join(folder, name));
    // A file under another name than its key's would say that one signer is another.
    if (key && `${fingerprintOf(key)}.pub` === name) signers.set(fingerprintOf(key), key);
  }
  return signers;
}

/** The public key that a PEM file holds, also one of a private key; undefined for any other file. */
async function publicKeyIn(path: string): Promise<KeyObject | undefined> {
  try {
    const key = createPublicKey(Buffer.from(await readPlainFile(path, MAX_KEY)));
    return key.asymmetricKeyType === "ed25519" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Adds a key to the trusted signers of a folder and returns its fingerprint. */
export async function trustSigner(folder: string, key: KeyObject): Promise<string> {
  const fingerprint = fingerprintOf(key);
  const shared = key.type === "private" ? createPublicKey(key) : key;
  await replaceFile(join(folder, `${fingerprint}.pub`), shared.export({ type: "spki", format: "pem" }));
  return fingerprint;
}

/** Signs a bundle: writes the signature beside its `SKILL.md`. */
export async function signBundle(bundle: Bundle, skill: string, key: KeyObject): Promise<string> {
  const [fault] = bundle.faults;
  if (fault !== undefined) throw new SkillError("malformed", `it cannot be signed as a whole: ${fault}`);
  const signer = fingerprintOf(key);
  const signature = sign(null, signedText(skill, bundle.digest), key).toString("base64");
  const content: z.input<typeof SignatureFile> = {
    ...{ format: FORMAT, signer, skill, digest: bundle.digest, signature },
  };
  await replaceFile(join(bundle.folder, SIGNATURE_FILE), `${JSON.stringify(content, undefined, 2)}\n`);
  return signer;
}

/** Checks the signature of a bundle against what its folder holds now. */
export async function checkSignature(
  bundle: Bundle,
  skill: string,
  signers: TrustedSigners,
): Promise<SignatureCheck> {
  const path = join(bundle.folder, SIGNATURE_FILE);
  const content = await ifExists(readPlainFile(path, MAX_KEY)).catch(() => new Uint8Array());
  if (!content) return { kind: "unsigned" };
  const { data } = SignatureFile.safeParse(jsonIn(content));
  if (!data) return { kind: "invalid", reason: `${SIGNATURE_FILE} is malformed` };
  const [fault] = bundle.faults;
  if (fault !== undefined) return { kind: "invalid", reason: `the signature cannot cover it: ${fault}` };
  if (data.digest !== bundle.digest || data.skill !== skill)
    return { kind: "invalid", reason: "its files are not those that were signed" };
  const key = signers.get(data.signer);
  if (!key) return { kind: "unknown_signer", signer: data.signer };
  const isValid = verify(null, signedText(skill, bundle.digest), key, Buffer.from(data.signature, "base64"));
  return isValid
    ? { kind: "valid", signer: data.signer }
    : { kind: "invalid", reason: "the signature is not that of its signer" };
}

function signedText(skill: string, digest: string): Uint8Array {
  return Buffer.from(JSON.stringify([FORMAT, skill, digest]));
}

function jsonIn(content: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(content).toString("utf8"));
  } catch {
    return undefined;
  }
}

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
