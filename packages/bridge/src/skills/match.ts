import { errorMessage, isRecord } from "@reins/kit";
import { unwrapped } from "../wire/bridge-port.ts";
import { plainLine } from "./fields.ts";
import type { HostRequest } from "./host-skills.ts";
import { type MatchQuery, rankSkills, type SkillMatch } from "./rank.ts";
import { type Skill, SkillError, type SkillWarning } from "./skill.ts";

/** How skills are matched: by what they say of themselves, or by the host. */
export interface MatchSettings {
  /** `metadata`, `host`, or `embedding`, which is the host's, too. */
  readonly strategy: string;
  /** The most skills in use at a time. */
  readonly topN: number;
  /** Whether a turn keeps the skills that it began with. */
  readonly sticky: boolean;
}

export const MATCH_DEFAULTS: MatchSettings = { strategy: "metadata", topN: 1, sticky: true };

/** What matching depends on. */
export interface MatchRequest extends MatchQuery {
  /** The skills that may be used. */
  readonly skills: readonly Skill[];
  readonly settings: MatchSettings;
  /** Reaches the host of the session; absent where there is none. */
  readonly host?: HostRequest | undefined;
}

/** Skills that fit, best first, and what went wrong on the way. */
export interface Matched {
  readonly matches: readonly SkillMatch[];
  readonly warnings: readonly SkillWarning[];
}

const SOURCE = "agent.skill_match";
const HOST_STRATEGIES: ReadonlySet<string> = new Set(["host", "embedding"]);
const MAX_REASON = 300;
const MAX_PROMPT = 32_000;
const MAX_FILES = 200;

/** Finds the skills that fit a prompt. A host that cannot say is replaced by the ranker, with a warning. */
export async function matchSkills(request: MatchRequest, signal: AbortSignal): Promise<Matched> {
  const { skills, settings } = request;
  const { strategy, topN } = settings;
  const candidates = skills.filter(({ disableModelInvocation }) => !disableModelInvocation);
  const ranked = (warnings: readonly SkillWarning[]) => ({
    matches: rankSkills(candidates, request).slice(0, topN),
    warnings,
  });
  if (candidates.length === 0 || strategy === "metadata") return ranked([]);
  if (!HOST_STRATEGIES.has(strategy))
    return ranked([warning(`the strategy ${plainLine(strategy)} is unknown`)]);
  try {
    if (!request.host) throw new SkillError("unavailable", "the session has no host");
    const reply = await request.host("skill/match", paramsOf(request, candidates), signal);
    const { matches, warnings } = readMatches(reply, candidates);
    return { matches: matches.slice(0, topN), warnings };
  } catch (error) {
    signal.throwIfAborted();
    return ranked([warning(`the host did not match skills, the ranker does: ${errorMessage(error)}`)]);
  }
}

function paramsOf(
  { settings, prompt, workingFiles = [] }: MatchRequest,
  candidates: readonly Skill[],
): Readonly<Record<string, unknown>> {
  return {
    strategy: settings.strategy,
    prompt: prompt.slice(0, MAX_PROMPT),
    working_files: workingFiles.slice(0, MAX_FILES),
    candidates: candidates.map(({ id, description, whenToUse, paths }) => ({
      name: id,
      description,
      when_to_use: whenToUse,
      paths,
    })),
  };
}

/**
 * Reads the reply of `skill/match`: a list, or one in `matches` or `skills`. Names that were no candidates are left out
 * before anything is counted, as are scores that are negative or no finite numbers.
 */
function readMatches(reply: unknown, candidates: readonly Skill[]): Matched {
  const content = unwrapped(reply);
  const entries = isRecord(content) ? (content.matches ?? content.skills) : content;
  if (!Array.isArray(entries)) throw new SkillError("malformed", "its reply is no list of matches");
  const known = new Map(candidates.map((skill) => [skill.id, skill]));
  const found = new Map<string, SkillMatch>();
  let dropped = 0;
  for (const entry of entries) {
    const match = isRecord(entry) ? matchIn(entry, known) : undefined;
    const earlier = match && found.get(match.skill.id);
    if (!match) dropped += 1;
    else if (!earlier || earlier.score < match.score) found.set(match.skill.id, match);
  }
  return {
    matches: [...found.values()].toSorted((left, right) => right.score - left.score),
    warnings: dropped === 0 ? [] : [warning(`${dropped} of the host's matches cannot be used`)],
  };
}

function matchIn(
  { name, score, reason }: Readonly<Record<string, unknown>>,
  known: ReadonlyMap<string, Skill>,
): SkillMatch | undefined {
  const skill = typeof name === "string" ? known.get(name) : undefined;
  const given = score ?? 1;
  if (!skill || typeof given !== "number" || !Number.isFinite(given) || given < 0) return undefined;
  const words = typeof reason === "string" ? plainLine(reason).slice(0, MAX_REASON) : "";
  return { skill, score: given, reason: words || "host match" };
}

function warning(message: string): SkillWarning {
  return { source: SOURCE, message: plainLine(message).slice(0, 500) };
}

/** A change of the skills in use, with ACP's name for it. */
export type SkillUpdate =
  | {
      readonly sessionUpdate: "skill_activated";
      readonly skillName: string;
      readonly iteration: number;
      readonly reason: string;
    }
  | { readonly sessionUpdate: "skill_deactivated"; readonly skillName: string; readonly iteration: number }
  | {
      readonly sessionUpdate: "skill_scope_tools";
      readonly skillName: string;
      readonly allowedTools: readonly string[];
    };

/** A skill that is to be in use, and why. */
export interface ChosenSkill {
  readonly skill: Skill;
  readonly reason: string;
}

/** The skills that a session uses. */
export class SkillActivation {
  readonly #active = new Map<string, Skill | undefined>();

  get active(): readonly Skill[] {
    return [...this.#active.values()].filter((skill) => skill !== undefined);
  }

  /** Notes what was in use when the session was left; what is no longer there is deactivated with the next change. */
  restore(ids: readonly string[], skills: readonly Skill[]): void {
    for (const id of ids)
      this.#active.set(
        id,
        skills.find((skill) => skill.id === id),
      );
  }

  /** Puts a set of skills to use: others are deactivated first, those in use stay as they are. */
  change(chosen: readonly ChosenSkill[], iteration: number): readonly SkillUpdate[] {
    const ids = new Set(chosen.map(({ skill }) => skill.id));
    const updates: SkillUpdate[] = [];
    for (const skillName of [...this.#active.keys()].filter((id) => !ids.has(id))) {
      this.#active.delete(skillName);
      updates.push({ sessionUpdate: "skill_deactivated", skillName, iteration });
    }
    return [...updates, ...chosen.flatMap((one) => this.add(one, iteration))];
  }

  /** Puts one more skill to use. */
  add({ skill, reason }: ChosenSkill, iteration: number): readonly SkillUpdate[] {
    const { id: skillName, allowedTools } = skill;
    const isActive = this.#active.has(skillName);
    this.#active.set(skillName, skill);
    if (isActive) return [];
    return [
      { sessionUpdate: "skill_activated", skillName, iteration, reason },
      ...(allowedTools.length > 0
        ? [{ sessionUpdate: "skill_scope_tools", skillName, allowedTools } as const]
        : []),
    ];
  }
}

/** What scoping looks at in a tool. */
export interface ScopedTool {
  readonly name: string;
  /** The namespaces that it belongs to, such as the MCP server that serves it. */
  readonly namespaces?: readonly string[] | undefined;
  /** Whether the runtime itself needs it; then no skill takes it away. */
  readonly isRuntime?: boolean | undefined;
}

/**
 * Narrows tools to those that the skills in use allow: the union of their lists. A skill without a list neither narrows
 * nor widens, and `*` stands for all tools. The result is a part of what was given, so it never holds a tool that policy
 * has taken away.
 */
export function scopeTools<Tool extends ScopedTool>(
  tools: readonly Tool[],
  skills: readonly Pick<Skill, "allowedTools">[],
): readonly Tool[] {
  const entries = new Set(skills.flatMap(({ allowedTools }) => allowedTools));
  if (entries.size === 0 || entries.has("*")) return tools;
  return tools.filter(
    ({ name, namespaces = [], isRuntime = false }) =>
      isRuntime || entries.has(name) || namespaces.some((tag) => entries.has(`namespace:${tag}`)),
  );
}

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
