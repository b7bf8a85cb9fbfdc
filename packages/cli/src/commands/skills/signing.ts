import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { checkSignature, readSkillFolder, readTrustedSigners, signBundle, trustSigner } from "@reins/bridge";
import { createFile, errorMessage } from "@reins/kit";
import { command, HOME } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { printableLine } from "../../printable.ts";

const FOLDER = ["<folder>", "the folder with the SKILL.md"] as const;
const JSON_FLAG = ["--json", "print the result as JSON"] as const;
const CODES = {
  done: "done",
  failed: "it cannot be signed, or the signature does not hold",
  usage: "wrong usage",
};

export const signCommand = command({
  summary: "sign a skill with all of its files",
  description:
    "Signs the folder of a skill: an Ed25519 signature over the hashes of all of its files, in SKILL.sig.json.\n" +
    "The key is keys/skills.pem of the home, made when it is first needed, unless another one is named.",
  inputs: {
    folder: FOLDER,
    home: HOME,
    key: ["--key <file>", "a private key in PEM"],
    trust: ["--trust", "trust skills that this key signs, on this home"],
    json: JSON_FLAG,
  },
  examples: [
    "reins skills sign ./skills/deploy",
    "reins skills sign ./skills/deploy --key release.pem --trust",
  ],
  codes: CODES,
  async run({ folder, home, key: file, trust }) {
    const key = await privateKey(file === undefined ? undefined : resolve(file), home);
    const { name, bundle } = await skillIn(folder);
    const signer = await signBundle(bundle, name, key).catch((error: unknown) => {
      throw new CliError(`${folder} cannot be signed: ${errorMessage(error)}`, {
        next: "Remove what the signature cannot cover.",
        exitCode: EXIT.failed,
        cause: error,
      });
    });
    if (trust) await trustSigner(signersIn(home), key);
    const { digest } = bundle;
    return {
      json: { skill: name, digest, signer, trusted: trust === true },
      text: () =>
        `signed   ${printableLine(name)}\ndigest   ${digest}\nsigner   ${signer}${trust ? " (trusted here)" : ""}\n`,
    };
  },
});

export const verifyCommand = command({
  summary: "check the signature of a skill",
  description:
    "Checks that a trusted signer has signed a skill, and that none of its files has changed since.",
  inputs: { folder: FOLDER, home: HOME, json: JSON_FLAG },
  examples: ["reins skills verify ./skills/deploy"],
  codes: CODES,
  async run({ folder, home }) {
    const { name, bundle } = await skillIn(folder);
    const check = await checkSignature(bundle, name, await readTrustedSigners(signersIn(home)));
    const { kind } = check;
    const text = {
      valid: () => `valid: signed by ${"signer" in check ? check.signer : ""}`,
      unknown_signer: () =>
        `not trusted: signed by ${"signer" in check ? check.signer : ""}, which is not trusted here`,
      unsigned: () => "not signed",
      invalid: () => `invalid: ${"reason" in check ? check.reason : ""}`,
    }[kind];
    return {
      json: { skill: name, digest: bundle.digest, ...check },
      text: () => `${printableLine(name)}: ${printableLine(text())}\n`,
      exitCode: kind === "valid" ? EXIT.done : EXIT.failed,
    };
  },
});

function signersIn(home: string): string {
  return join(home, "trusted-signers");
}

async function skillIn(folder: string) {
  const path = resolve(folder);
  try {
    const { file, bundle } = await readSkillFolder(path);
    return { name: file.name ?? basename(path), bundle };
  } catch (error) {
    throw new CliError(`${folder} is no skill: ${errorMessage(error)}`, {
      next: "Name a folder that has a SKILL.md.",
      cause: error,
    });
  }
}

/** The key of a file, or that of the home, which is made when it is first needed. */
async function privateKey(file: string | undefined, home: string): Promise<KeyObject> {
  const path = file ?? join(home, "keys", "skills.pem");
  if (file === undefined) {
    const { privateKey: made } = generateKeyPairSync("ed25519");
    await createFile(path, made.export({ type: "pkcs8", format: "pem" }));
  }
  try {
    const key = createPrivateKey(await readFile(path));
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch (error) {
    throw new CliError(`${path} cannot be used as a key: ${errorMessage(error)}`, {
      next: "Give a private Ed25519 key in PEM.",
      cause: error,
    });
  }
  throw new CliError(`${path} is no Ed25519 key.`, { next: "Give a private Ed25519 key in PEM." });
}
