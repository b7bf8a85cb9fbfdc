import { readFileSync } from "node:fs";
import { readFields } from "../src/skills/fields.ts";
import { rankSkills } from "../src/skills/rank.ts";
import type { Skill } from "../src/skills/skill.ts";
import { skillWith } from "./skills.ts";

/** A prompt, and the skill that a person would take for it; null where none fits. */
interface CorpusPrompt {
  readonly prompt: string;
  readonly skill: string | null;
}

/** Returns the skill that is taken for a prompt. */
export type Choose = (prompt: string) => string | undefined;

function linesOf<Line>(file: string): readonly Line[] {
  const text = readFileSync(new URL(`../corpus/${file}`, import.meta.url), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line): Line => JSON.parse(line));
}

export const SKILLS: readonly Skill[] = linesOf<{ readonly name: string }>("skills.jsonl").map((line) =>
  skillWith({ ...readFields({ ...line }).fields, id: line.name }),
);

/** The prompts by which the ranker was made, those that were written when it was done, and those written last, by another author. */
export const PROMPTS = linesOf<CorpusPrompt>("skill-prompts.jsonl");
export const HELD_OUT = linesOf<CorpusPrompt>("skill-prompts-held-out.jsonl");
export const UNSEEN = linesOf<CorpusPrompt>("skill-prompts-unseen.jsonl");

/** The share of prompts that get the right skill first, and of those that fit none and get none. */
export function accuracyOf(
  choose: Choose,
  prompts: readonly CorpusPrompt[],
): { right: number; none: number } {
  const fitting = prompts.filter(({ skill }) => skill !== null);
  const others = prompts.filter(({ skill }) => skill === null);
  const share = (some: readonly CorpusPrompt[]) =>
    some.filter(({ prompt, skill }) => (choose(prompt) ?? null) === skill).length / some.length;
  return { right: share(fitting), none: share(others) };
}

export const ours: Choose = (prompt) => rankSkills(SKILLS, { prompt })[0]?.skill.id;

/**
 * The formula of the protocol's first implementation: hits / (hits + 1.5), where a hit is a word of more than two letters
 * that is part of the description or of when to use it, and 2 more where the prompt contains the name.
 */
export const plainFormula: Choose = (prompt) => {
  const text = prompt.toLowerCase();
  const words = text.split(/[^a-z0-9]+/).filter((word) => word.length > 2);
  const scored = SKILLS.map(({ id, description, whenToUse }) => {
    const [about, when] = [description.toLowerCase(), whenToUse.toLowerCase()];
    const hits =
      words.filter((word) => about.includes(word)).length +
      words.filter((word) => when.includes(word)).length;
    return { id, score: (hits > 0 ? hits / (hits + 1.5) : 0) + (text.includes(id) ? 2 : 0) };
  });
  return scored.filter(({ score }) => score > 0).toSorted((left, right) => right.score - left.score)[0]?.id;
};
