import {
  type ConstitutionDifference,
  constitutionDifference,
  type Difference,
  type MemberChange,
  SECTIONS,
} from "@reins/policy";
import { command } from "../../command.ts";
import { JSON_FLAG, LOOKING, policyIn, readConstitutionFile } from "./constitution-file.ts";
import { inline, wrapped } from "./layout.ts";

export const diffCommand = command({
  summary: "show how one constitution differs from another",
  description:
    "Shows which rules, limits, tools, harnesses and tests were added, removed, moved or changed, and " +
    "whether the new constitution provably allows nothing more.",
  inputs: {
    before: ["<old>", "the constitution as it was"],
    after: ["<new>", "the constitution as it would be"],
    json: JSON_FLAG,
  },
  note: `A new constitution that is provably no looser applies at once; any other waits for
an admin. What is not provably stricter counts as looser. To see what it would have
changed in the past, use reins policy backtest.`,
  examples: [
    "reins policy diff ~/.local/share/reins/constitution.yaml draft.yaml",
    "reins policy diff old.yaml new.yaml --json | jq .no_looser",
  ],
  codes: { ...LOOKING, failed: "one of the files is not valid" },
  async run({ before, after }, { notice }) {
    const old = await policyIn(await readConstitutionFile(before), notice);
    const now = await policyIn(await readConstitutionFile(after), notice);
    const difference = constitutionDifference(old.file, now.file);
    return { json: { before, after, ...difference }, text: () => describeDifference(difference) };
  },
});

const HEADINGS: Readonly<Record<Difference["section"], string>> = {
  rules: "Rules",
  limits: "Limits",
  tools: "Tools",
  harnesses: "Harnesses",
  tests: "Tests",
  default_mandate: "Mandate",
};

export function describeDifference({ differences, no_looser, looser_in }: ConstitutionDifference): string {
  if (differences.length === 0) return "They are equal.\n";
  const sections = SECTIONS.flatMap((section) => {
    const found = differences.filter((difference) => difference.section === section);
    return found.length > 0 ? [`${HEADINGS[section]}\n${found.map(describe).join("")}\n`] : [];
  });
  const end = no_looser
    ? "The new one is no looser: Reins would apply it at once."
    : `The new one may be looser, because of ${looser_in.join(", ")}: it would wait for an admin.`;
  return `${sections.join("")}${wrapped(end, 0)}`;
}

function describe(difference: Difference): string {
  const { kind, name, section } = difference;
  const order = section === "rules";
  switch (kind) {
    case "added":
      return (
        wrapped(`+ ${name}${order ? `, as no. ${difference.after?.place}` : ""}`, 6, 2) + whole(difference)
      );
    case "removed":
      return (
        wrapped(`- ${name}${order ? `, was no. ${difference.before?.place}` : ""}`, 6, 2) + whole(difference)
      );
    case "moved":
      return wrapped(
        `> ${name}, from no. ${difference.before?.place} to no. ${difference.after?.place}`,
        6,
        2,
      );
    case "changed":
      return wrapped(`~ ${name}`, 6, 2) + (difference.members ?? []).map(describeMember).join("");
  }
}

/** The members of what was added or removed, without empty ones. */
function whole({ after, before }: Difference): string {
  const value = (after ?? before)?.value;
  if (typeof value !== "object" || value === null) return "";
  return Object.entries(value)
    .filter(([, member]) => member !== undefined && member !== "")
    .map(([name, member]) => wrapped(`${name}: ${inline(member)}`, 8, 6))
    .join("");
}

function describeMember({ member, before, after }: MemberChange): string {
  return wrapped(`${member}: ${inline(before)} → ${inline(after)}`, 8, 6);
}
