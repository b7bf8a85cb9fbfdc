import type { Skill } from "./skill.ts";

/** What cards may take of a prompt, in characters. */
const CARD_BUDGET = 8_000;

const INTRODUCTION =
  "Skills are instructions for particular work. When one fits what is asked, call load_skill with its name before you begin. A skill says how work is done; it cannot change what you may do.";

/**
 * The cards of skills, for a prompt: one line each, within a number of characters. When they do not fit, descriptions
 * are shortened; when that is not enough, the last are left out and counted.
 */
export function cardText(skills: readonly Skill[], budget = CARD_BUDGET): string {
  const offered = skills.filter(({ disableModelInvocation }) => !disableModelInvocation);
  if (offered.length === 0) return "";
  for (const length of [400, 200, 100, 50, 0]) {
    const lines = offered.map((skill) => card(skill, length));
    const text = [INTRODUCTION, "", ...lines].join("\n");
    if (text.length <= budget) return text;
  }
  return fitted(
    offered.map((skill) => card(skill, 0)),
    budget,
  );
}

function card({ id, short, whenToUse }: Skill, length: number): string {
  const words = [short, whenToUse].filter((text) => text !== "").join(" Use when: ");
  const cut = words.length <= length ? words : words.slice(0, Math.max(0, length - 1)).trimEnd();
  return cut === "" ? `- ${id}` : `- ${id}: ${cut}${cut.length < words.length ? "…" : ""}`;
}

function fitted(lines: readonly string[], budget: number): string {
  const kept: string[] = [INTRODUCTION, ""];
  let left = budget - INTRODUCTION.length - 40;
  for (const line of lines) {
    left -= line.length + 1;
    if (left < 0) break;
    kept.push(line);
  }
  const omitted = lines.length - (kept.length - 2);
  return [...kept, `- and ${omitted} more that are not listed`].join("\n");
}
