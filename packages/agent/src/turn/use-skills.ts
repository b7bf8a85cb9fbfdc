import { parseObject } from "@reins/acp";
import type { SkillWarning } from "@reins/bridge";
import type { HistoryEntry } from "../history/entry.ts";
import type { WantedOfSkill } from "../skills/session-skills.ts";
import type { Turn } from "./turn.ts";

const MAX_FILES = 50;

/** Puts the skills to use that fit the prompt of a turn, and shows what changed. Returns what the model is to read. */
export async function useSkills(turn: Turn, request: number): Promise<string> {
  const { skills, entries, emit, keep, toolContext, protocol } = turn.setting;
  if (!skills) return "";
  const { cwd } = toolContext.roots;
  const prompt = {
    text: turn.words,
    workingFiles: workingFiles(entries, cwd),
    canScope: protocol === undefined,
  };
  const { updates, matches, instructions, warnings } = await skills.match(prompt, request - 1, turn.signal);
  for (const update of updates) await emit({ type: "skill", update });
  await showSkillWarnings(turn, warnings);
  if (matches.length > 0 || updates.length > 0)
    await keep({
      kind: "skill_matched",
      ...turn.mark,
      matches: matches.map(({ skill, score, reason }) => ({ name: skill.id, score, reason })),
      active: [...skills.active],
    });
  // What declares is shown no conversation that could hold them.
  const context = protocol ? "" : turn.context;
  return instructions.filter((text) => !context.includes(text)).join("\n\n");
}

/** Loads a skill for the model in the course of a turn. */
export async function loadSkillIn(
  turn: Turn,
  name: string,
  { arguments: given, file }: WantedOfSkill,
): Promise<string> {
  const { skills, emit, keep } = turn.setting;
  if (!skills) throw new Error("this turn has no skills");
  if (file !== undefined) return skills.readFile(name, file);
  const { text, updates } = await skills.load(name, given, turn.request - 1, turn.signal);
  for (const update of updates) await emit({ type: "skill", update });
  if (updates.length > 0)
    await keep({ kind: "skill_matched", ...turn.mark, matches: [], active: [...skills.active] });
  return text;
}

/** Shows what is wrong with skills, each thing once for a session. */
export async function showSkillWarnings(turn: Turn, warnings: readonly SkillWarning[]): Promise<void> {
  const { emit, faults } = turn.setting;
  for (const { source, message } of warnings) {
    const description = `${source}: ${message}`;
    if (faults.has(description)) continue;
    faults.add(description);
    await emit({ type: "notice", severity: "warning", title: "A skill needs attention", description });
  }
}

/** The skills that were in use when a session was left. */
export function activeIn(entries: readonly HistoryEntry[]): readonly string[] {
  const last = entries.findLast((entry) => entry.kind === "skill_matched");
  return last?.kind === "skill_matched" ? last.active : [];
}

/** The files that the last calls were about, relative to the folder of the session. */
function workingFiles(entries: readonly HistoryEntry[], cwd: string): readonly string[] {
  const calls = entries
    .slice(-MAX_FILES)
    .flatMap((entry) => (entry.kind === "assistant" ? entry.parts : []))
    .filter((part) => part.type === "call");
  const paths = calls.flatMap(({ arguments: json }) => {
    const { path } = parseObject(json);
    return typeof path === "string" && path.length < 1_000 ? [path] : [];
  });
  const relative = paths.map((path) => (path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path));
  return [...new Set(relative.map((path) => path.replace(/^(?:\.\/)+/, "")))].slice(-MAX_FILES);
}
