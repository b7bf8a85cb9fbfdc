import { plainLine } from "./fields.ts";
import {
  isOfOperator,
  isUsable,
  type ShadowedSkill,
  SKILL_LAYERS,
  type Skill,
  SkillError,
  type SkillLayer,
  type SkillWarning,
} from "./skill.ts";

/** How layers are ordered, and which are left out. */
export interface LayerOrder {
  /** The first layers; the others follow in their usual order. */
  readonly lookupOrder?: readonly SkillLayer[] | undefined;
  readonly disabled?: readonly SkillLayer[] | undefined;
}

const MAX_DISPLACED = 50;

/** The skills of all layers: the first of an id that may be used wins, the others are shadowed. */
export class SkillCatalogue {
  /** By their ids, in the order of layers. */
  readonly skills: readonly Skill[];
  /** Those that may be matched, loaded or scoped. */
  readonly usable: readonly Skill[];
  readonly shadowed: readonly ShadowedSkill[];
  readonly disabledLayers: readonly SkillLayer[];
  /** What was given, after each skill of the operator that a workspace's or a host's hides. */
  readonly warnings: readonly SkillWarning[];

  constructor(found: readonly Skill[], warnings: readonly SkillWarning[] = [], order: LayerOrder = {}) {
    const { lookupOrder = [], disabled = [] } = order;
    const layers = [...new Set([...lookupOrder, ...SKILL_LAYERS])].filter(
      (layer) => !disabled.includes(layer),
    );
    const ordered = layers.flatMap((layer) => found.filter((one) => one.layer === layer));
    const chosen = new Map<string, Skill>();
    const shadowed: ShadowedSkill[] = [];
    const displaced: SkillWarning[] = [];
    // What may not be used hides nothing that may: a repository could take the operator's skills away.
    for (const skill of [...ordered.filter(isUsable), ...ordered.filter((one) => !isUsable(one))]) {
      const { id, layer, origin } = skill;
      const winner = chosen.get(id);
      if (!winner) {
        chosen.set(id, skill);
        continue;
      }
      shadowed.push({ id, winner: winner.layer, loser: layer, loserOrigin: origin });
      if (isOfOperator(skill) && !isOfOperator(winner))
        displaced.push({
          source: winner.origin,
          message: `${id} of the layer ${winner.layer} takes the place of the operator's in the layer ${layer} (${origin})`,
        });
    }
    this.skills = ordered.filter((skill) => chosen.get(skill.id) === skill);
    this.usable = this.skills.filter(isUsable);
    this.shadowed = shadowed;
    this.disabledLayers = [...disabled];
    this.warnings = [...displaced.slice(0, MAX_DISPLACED), ...warnings];
  }

  /**
   * The skill of an id, or the only one of a bare name; throws {@link SkillError} otherwise. What may not be used is found
   * only where nothing that may has the name: it would take that away.
   */
  find(name: string): Skill {
    const { usable } = this;
    const isNamed = (skill: Skill) => skill.name === name || skill.id.endsWith(`/${name}`);
    const among = usable.some((skill) => skill.id === name || isNamed(skill)) ? usable : this.skills;
    const exact = among.find(({ id }) => id === name);
    if (exact) return exact;
    const named = among.filter(isNamed);
    const [only, ...others] = named;
    const shown = plainLine(name).slice(0, 100);
    if (!only) throw new SkillError("unknown", `there is no skill ${shown}`);
    if (others.length === 0) return only;
    const ids = named.map(({ id }) => id).join(", ");
    throw new SkillError("ambiguous", `${shown} is ambiguous: ${ids}`);
  }

  /** Bare names that stand for several skills. */
  get ambiguous(): readonly { readonly name: string; readonly ids: readonly string[] }[] {
    const byName = Map.groupBy(this.skills, ({ name }) => name);
    return [...byName].flatMap(([name, skills]) =>
      skills.length > 1 && !skills.some(({ id }) => id === name)
        ? [{ name, ids: skills.map(({ id }) => id) }]
        : [],
    );
  }
}
