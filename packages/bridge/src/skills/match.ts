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
