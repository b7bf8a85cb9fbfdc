import type { Skill } from "./skill.ts";

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
