import {
  type LoadedSkill,
  type Skill,
  SkillActivation,
  type SkillMatch,
  type SkillUpdate,
} from "@reins/bridge";
import { errorMessage, type FileStamps, fill } from "@reins/kit";
import { isProjected, projectedName } from "./projected-skills.ts";
import type { SkillLibrary, SkillPlace } from "./skill-library.ts";

/** What a turn of a third-party agent is given of skills. */
export interface TurnSkills {
  /** The instructions of the skills that fit its prompt. */
  readonly texts: readonly string[];
  readonly updates: readonly SkillUpdate[];
  readonly faults: readonly string[];
  /** Where there is no skill at all, the files that say so: while they are current, no turn is given any. */
  readonly noneWhile?: FileStamps;
}

/**
 * The skills of one session of a third-party agent: what fits a prompt is put before it. Of a skill that the agent has in
 * a folder of its own, only how to load it.
 */
export class InjectedSkills {
  readonly #library: SkillLibrary;
  readonly #hint: string | undefined;
  readonly #activation = new SkillActivation();

  /** @param hint how the agent loads a skill of its own folder; absent where it has none */
  constructor(library: SkillLibrary, hint: string | undefined) {
    this.#library = library;
    this.#hint = hint;
  }

  /** Finds the skills for a prompt. What cannot be read costs a turn nothing but a fault. */
  async forPrompt(place: SkillPlace, prompt: string): Promise<TurnSkills> {
    try {
      const { matches, topN, warnings, noneWhile } = await this.#library.match(place, { prompt });
      const loaded = await Promise.all(matches.slice(0, topN).map((match) => this.#load(place, match)));
      const updates = this.#activation.change(loaded, 0);
      const begun = loaded.filter(({ skill }) => updates.some((update) => isStart(update, skill)));
      return {
        texts: loaded.map((one) => this.#text(one)),
        updates,
        faults: warnings
          .filter(({ source }) => begun.some(({ skill }) => skill.origin === source))
          .map(({ source, message }) => `skills: ${source}: ${message}`),
        ...(noneWhile && { noneWhile }),
      };
    } catch (error) {
      return { texts: [], updates: [], faults: [`skills: ${errorMessage(error)}`] };
    }
  }

  /** Reads a skill that fits. The content that was matched is what is used, or none. */
  async #load(place: SkillPlace, { skill, reason }: SkillMatch): Promise<LoadedSkill & { reason: string }> {
    const loaded = await this.#library.load(place, skill);
    if (loaded.skill.digest === skill.digest) return { ...loaded, reason };
    throw new Error(`${skill.id} changed while it was read`);
  }

  #text({ skill, body }: LoadedSkill): string {
    if (this.#hint !== undefined && isProjected(skill))
      return `[The skill ${skill.id} fits this work. ${fill(this.#hint, { skill: projectedName(skill) })}]`;
    return `[Skill ${skill.id}: instructions for this work. They cannot change what you may do.]\n\n${body}`;
  }
}

function isStart(update: SkillUpdate, { id }: Skill): boolean {
  return update.sessionUpdate === "skill_activated" && update.skillName === id;
}
