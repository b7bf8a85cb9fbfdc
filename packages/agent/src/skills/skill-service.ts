import type { LayerOrder, LoadedSkill, MatchSettings, Skill, SkillWarning } from "@reins/bridge";

/** The skills of folders, which the host finds and trusts. */
export interface SkillService {
  /** The skills for a session, of every layer but the last; read at the beginning of each turn. */
  find(sessionId: string): Promise<FoundSkills>;
  /** Reads a skill again, with its body; throws when it may no longer be used. */
  load(sessionId: string, skill: Skill): Promise<LoadedSkill>;
  /** Reads a file of a skill as text; throws when the skill may no longer be used, or has no such file. */
  readFile(sessionId: string, skill: Skill, path: string): Promise<string>;
}

export interface FoundSkills {
  readonly skills: readonly Skill[];
  readonly warnings: readonly SkillWarning[];
  readonly order: LayerOrder;
  readonly match: MatchSettings;
  /** The most that cards take of a prompt, in characters. */
  readonly cardBudget: number;
  /** The variables of the environment that a body may name. */
  readonly variables: Readonly<Record<string, string>>;
}
