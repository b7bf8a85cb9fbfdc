import { resolve } from "node:path";
import {
  type SkillDetails,
  type SkillList,
  type SkillMatches,
  type SkillSummary,
  skillOperations,
} from "@reins/api";
import { operationCommand } from "../../client/operation-command.ts";
import { group } from "../../command.ts";
import { counted, printable, printableLine, screenWidth, table } from "../../printable.ts";
import { signCommand, verifyCommand } from "./signing.ts";

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
