/** The layers that skills come from, from the strongest to the weakest. */
export const SKILL_LAYERS = [
  "cli",
  "env",
  "project",
  "manifest",
  "user",
  "package",
  "system",
  "host",
] as const;
export type SkillLayer = (typeof SKILL_LAYERS)[number];

/** A command that a skill wants run at an event. Reins shows hooks and runs none. */
export interface SkillHook {
  readonly event: string;
  readonly command: string;
}

/** What the front matter of a `SKILL.md`, or the manifest of a host's skill, says. */
export interface SkillFields {
  /** One line for a card; derived from the description where it is not given. */
  readonly short: string;
  readonly description: string;
  readonly whenToUse: string;
  /** Whether only a person may use the skill. */
  readonly disableModelInvocation: boolean;
  /** Whether a person may use it by `/name`. */
  readonly userInvocable: boolean;
  /** Exact names, `namespace:<tag>` or `*`. An empty list neither narrows nor widens. */
  readonly allowedTools: readonly string[];
  /** Globs of files that the skill is for. */
  readonly paths: readonly string[];
  readonly hooks: readonly SkillHook[];
  readonly requireSignature: boolean;
  /** The only signers that count; any trusted one if empty. */
  readonly trustedSigners: readonly string[];
  readonly argumentHint?: string | undefined;
  readonly context?: string | undefined;
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
  readonly effort?: string | undefined;
  readonly shell?: string | undefined;
}

/** Why a skill may be used, or why not. */
export type SkillTrust =
  /** It lies in a folder that the operator named, outside of the workspace. */
  | { readonly status: "trusted"; readonly by: "operator" }
  | { readonly status: "trusted"; readonly by: "signature"; readonly signer: string }
  /** A person has trusted exactly this content. */
  | { readonly status: "trusted"; readonly by: "grant"; readonly who: string }
  /** A host provides it: a session may use it, and it can only narrow what the session may do. */
  | { readonly status: "advisory" }
  | { readonly status: "untrusted"; readonly reason: string };

/** A skill of a catalogue, without its body. */
export interface Skill extends SkillFields {
  /** `name`, or `namespace/name`; unique within a catalogue. */
  readonly id: string;
  readonly name: string;
  readonly namespace?: string;
  readonly layer: SkillLayer;
  /** Its folder, or the id by which the host knows it. */
  readonly origin: string;
  /** The SHA-256 of the manifest of its files; absent for a skill of a host. */
  readonly digest?: string;
  readonly trust: SkillTrust;
}

/** A skill with its body. */
export interface LoadedSkill {
  readonly skill: Skill;
  readonly body: string;
  /** The other files of its folder; none of a host's skill. */
  readonly files?: readonly string[];
}

/** Whether a skill may be matched, loaded or scoped. */
export function isUsable({ trust }: Skill): boolean {
  return trust.status !== "untrusted";
}

/** What the front matter of a skill wants that Reins shows and does not do. */
export function notApplied(skill: SkillFields): readonly string[] {
  const { context, agent, model, effort, shell, hooks } = skill;
  const named = Object.entries({ context, agent, model, effort, shell });
  return [
    ...named.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`])),
    ...(hooks.length > 0 ? [`hooks: ${hooks.length}`] : []),
  ];
}

/** Whether it is the operator's own word, not that of a workspace or a host. */
export function isOfOperator({ trust }: Skill): boolean {
  return trust.status === "trusted" && trust.by === "operator";
}

/** A skill that was not chosen because a stronger layer has one of the same id. */
export interface ShadowedSkill {
  readonly id: string;
  readonly winner: SkillLayer;
  readonly loser: SkillLayer;
  readonly loserOrigin: string;
}

/** Something that is wrong with a skill or a layer, and does not stop the others. */
export interface SkillWarning {
  /** The file, folder or method that it is about. */
  readonly source: string;
  readonly message: string;
}

export type SkillErrorCode = "unknown" | "ambiguous" | "untrusted" | "disabled" | "unavailable" | "malformed";

/** A skill that cannot be used, and why. */
export class SkillError extends Error {
  override readonly name = "SkillError";
  readonly code: SkillErrorCode;

  constructor(code: SkillErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
