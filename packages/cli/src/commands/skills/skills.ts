import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import {
  type SkillDetails,
  type SkillList,
  type SkillMatches,
  type SkillSummary,
  skillOperations,
} from "@reins/api";
import { checkSignature, readSkillFolder, readTrustedSigners, signBundle, trustSigner } from "@reins/bridge";
import { createFile, errorMessage } from "@reins/kit";
import { operationCommand } from "../../client/operation-command.ts";
import { command, group, HOME } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { counted, printable, printableLine, screenWidth, table } from "../../output.ts";

const FOLDER = ["<folder>", "the folder with the SKILL.md"] as const;
const JSON_FLAG = ["--json", "print the result as JSON"] as const;
const CODES = {
  done: "done",
  failed: "it cannot be signed, or the signature does not hold",
  usage: "wrong usage",
};

const signCommand = command({
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

const verifyCommand = command({
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

const WORKSPACE = [
  "--workspace <folder>",
  "the folder whose skills count too (default: this one)",
  { read: (text: string) => resolve(text), absent: () => process.cwd() },
] as const;
const SKILL = ["<skill>", "the skill's name, or namespace/name"] as const;

const DESCRIPTION =
  "Skills: instructions for particular work, in folders with a SKILL.md. Those that come with a workspace are\n" +
  "listed and not used until a person trusts their content, or a trusted signer has signed it.";

export const skillsCommand = group(DESCRIPTION, {
  list: operationCommand({
    operation: skillOperations.listSkills,
    summary: "list skills with their layers and trust",
    inputs: { workspace: WORKSPACE },
    output: (list) => ({ text: () => listText(list) }),
    examples: ["reins skills list", "reins skills list --workspace ~/project --json"],
  }),
  show: operationCommand({
    operation: skillOperations.showSkill,
    summary: "show a skill's instructions and files",
    inputs: { skill: SKILL, workspace: WORKSPACE },
    output: (details) => ({ text: () => detailsText(details) }),
    examples: ["reins skills show pdf", "reins skills show acme/review"],
  }),
  match: operationCommand({
    operation: skillOperations.matchSkills,
    summary: "rank the skills that fit a prompt",
    inputs: {
      prompt: ["<prompt...>", "what a person would ask", { words: (words) => words.join(" ") }],
      workspace: WORKSPACE,
      working_files: [
        "--file <path>",
        "a file that the session works with, relative to the workspace",
        { many: "repeated" },
      ],
    },
    output: (found) => ({ text: () => matchText(found) }),
    examples: ['reins skills match "ship the release to production"'],
  }),
  trust: operationCommand({
    operation: skillOperations.trustSkill,
    summary: "trust a skill of a workspace as it is now",
    description:
      "Trusts the content of a skill that comes with a workspace, after you have read it: reins skills show.\n" +
      "It counts until any of its files changes. The digest says which content you mean; reins skills show prints it.",
    inputs: { skill: SKILL, digest: ["<digest>", "the content that you have read"], workspace: WORKSPACE },
    output: (skill) => ({ text: () => `trusted  ${printableLine(skill.id)}  ${skill.digest ?? ""}\n` }),
    advice: { conflict: "Read it again: reins skills show" },
    examples: ["reins skills trust deploy 3f0c…"],
  }),
  distrust: operationCommand({
    operation: skillOperations.distrustSkill,
    summary: "take the trust in a content back",
    inputs: { digest: ["<digest>", "the content; reins skills list --json prints it"] },
    output: (_, { digest }) => ({ json: { digest, trusted: false }, text: () => `not trusted  ${digest}\n` }),
  }),
  sign: signCommand,
  verify: verifyCommand,
});

function listText({ skills, shadowed, ambiguous, disabled_layers, warnings }: SkillList): string {
  const rows = skills.map((skill) => [
    printableLine(skill.id),
    skill.layer,
    trustText(skill),
    printableLine(skill.short),
  ]);
  const notes = [
    ...shadowed.map(
      ({ id, winner, loser, loser_origin }) =>
        `shadowed: ${printableLine(id)} of ${loser} (${printableLine(loser_origin)}) by ${winner}`,
    ),
    ...ambiguous.map(
      ({ name, ids }) => `ambiguous: ${printableLine(name)} is ${ids.map(printableLine).join(" or ")}`,
    ),
    ...(disabled_layers.length > 0 ? [`disabled layers: ${disabled_layers.join(", ")}`] : []),
    ...warnings.map(({ source, message }) => `warning: ${printableLine(source)}: ${printableLine(message)}`),
  ];
  const listed =
    rows.length === 0
      ? "No skills.\n"
      : table([["SKILL", "LAYER", "TRUST", "ABOUT"], ...rows], screenWidth());
  return notes.length === 0 ? listed : `${listed}\n${notes.join("\n")}\n`;
}

function trustText({ trust: { status, by, who, signer } }: SkillSummary): string {
  if (by === "grant") return `by ${printableLine(who ?? "")}`;
  if (by === "signature") return `signed ${signer?.slice(0, 12)}`;
  return by ?? status;
}

function detailsText({ skill, body, files, faults }: SkillDetails): string {
  const { trust } = skill;
  const facts = table([
    ["skill", printableLine(skill.id)],
    ["layer", skill.layer],
    ["folder", printableLine(skill.origin)],
    [
      "trust",
      trust.reason === undefined ? trustText(skill) : `${trust.status}: ${printableLine(trust.reason)}`,
    ],
    ["digest", skill.digest ?? "-"],
    ["about", printableLine(skill.description)],
    ...(skill.when_to_use === "" ? [] : [["use when", printableLine(skill.when_to_use)]]),
    ...(skill.allowed_tools.length === 0
      ? []
      : [["tools", skill.allowed_tools.map(printableLine).join(", ")]]),
    ...(skill.disable_model_invocation ? [["used by", "people only"]] : []),
    ...(skill.not_applied.length === 0
      ? []
      : [["not applied", skill.not_applied.map(printableLine).join(", ")]]),
    ...faults.map((fault) => ["not covered", printableLine(fault)]),
    ["files", counted(files.length, "file")],
  ]);
  const listed = files.map(
    ({ path, executable }) => `  ${printableLine(path)}${executable ? " (executable)" : ""}`,
  );
  return `${facts}${listed.join("\n")}\n\n${printable(body)}\n`;
}

function matchText({ matches }: SkillMatches): string {
  if (matches.length === 0) return "No skill fits.\n";
  const rows = matches.map(({ name, score, reason, active }) => [
    printableLine(name),
    score.toFixed(2),
    active ? "used" : "",
    printableLine(reason),
  ]);
  return table([["SKILL", "SCORE", "", "WHY"], ...rows], screenWidth());
}
