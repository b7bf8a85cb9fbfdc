import { type ConstitutionDifference, type Difference, type MemberChange, SECTIONS } from "@reins/policy";
import { inline, wrapped } from "../layout.ts";

const HEADINGS: Readonly<Record<Difference["section"], string>> = {
  rules: "Rules",
  limits: "Limits",
  tools: "Tools",
  harnesses: "Harnesses",
  tests: "Tests",
  default_mandate: "Mandate",
};

/** The difference of two constitutions for people. */
export function describeDifference({ differences, no_looser, looser_in }: ConstitutionDifference): string {
  if (differences.length === 0) return "They say the same.\n";
  const sections = SECTIONS.flatMap((section) => {
    const found = differences.filter((difference) => difference.section === section);
    return found.length > 0 ? [`${HEADINGS[section]}\n${found.map(describe).join("")}\n`] : [];
  });
  const end = no_looser
    ? "The new one is no looser: Reins would apply it at once."
    : `The new one may be looser, as far as can be seen from ${looser_in.join(", ")}: it would wait for an admin.`;
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

/** What was added or taken away, member by member, without what is as good as not said. */
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
