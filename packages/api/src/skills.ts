import { z } from "zod";
import { operation } from "./operation.ts";
import { Hash, Name, named } from "./schema.ts";

const Workspace = z
  .string()
  .min(1)
  .max(4_096)
  .optional()
  .describe("the folder whose skills count too, absolute; without it, only those of the operator");

/** Where skills come from, the strongest first. */
const Layer = z.enum(["cli", "env", "project", "manifest", "user", "package", "system", "host"]);

/** Whether a skill may be used, and on whose word. */
const SkillTrust = named(
  "SkillTrust",
  z.looseObject({
    status: z.enum(["trusted", "advisory", "untrusted"]),
    by: z.enum(["operator", "signature", "grant"]).optional().describe("on whose word it is trusted"),
    signer: Hash.optional().describe("the fingerprint of the key that signed it"),
    who: z.string().optional().describe("the person who trusts its content"),
    reason: z.string().optional().describe("why it is not trusted"),
  }),
);

/** A skill without its body. */
export const SkillSummary = named(
  "Skill",
  z.looseObject({
    id: z.string().describe("its name, or `namespace/name`"),
    name: z.string(),
    layer: Layer,
    origin: z.string().describe("its folder"),
    digest: Hash.optional().describe("of all of its files; what a person trusts"),
    trust: SkillTrust,
    short: z.string(),
    description: z.string(),
    when_to_use: z.string(),
    allowed_tools: z.array(z.string()),
    paths: z.array(z.string()),
    disable_model_invocation: z.boolean().describe("whether only a person may use it"),
    user_invocable: z.boolean().describe("whether a person may use it by `/name`"),
    argument_hint: z.string().optional(),
    not_applied: z
      .array(z.string())
      .describe("what its front matter wants that Reins shows and does not do, such as `model: opus`"),
  }),
);
export type SkillSummary = z.infer<typeof SkillSummary>;

/** The skills of a workspace and of the operator. */
const SkillList = named(
  "SkillList",
  z.looseObject({
    skills: z.array(SkillSummary),
    shadowed: z
      .array(z.looseObject({ id: z.string(), winner: Layer, loser: Layer, loser_origin: z.string() }))
      .describe("skills that a stronger one of the same id hides"),
    ambiguous: z
      .array(z.looseObject({ name: z.string(), ids: z.array(z.string()) }))
      .describe("bare names that stand for several skills"),
    disabled_layers: z.array(Layer),
    warnings: z.array(z.looseObject({ source: z.string(), message: z.string() })),
  }),
);
export type SkillList = z.infer<typeof SkillList>;

/** A skill with everything that a person needs to know before trusting it. */
const SkillDetails = named(
  "SkillDetails",
  z.looseObject({
    skill: SkillSummary,
    body: z.string().describe("its instructions, as they are written"),
    files: z.array(z.looseObject({ path: z.string(), sha256: Hash, executable: z.boolean() })),
    faults: z.array(z.string()).describe("what its folder holds that its digest does not cover"),
  }),
);
export type SkillDetails = z.infer<typeof SkillDetails>;

/** The skills that fit a prompt. */
const SkillMatches = named(
  "SkillMatches",
  z.looseObject({
    matches: z
      .array(
        z.looseObject({
          name: z.string(),
          score: z.number(),
          reason: z.string(),
          active: z.boolean().describe("whether a session would use it"),
        }),
      )
      .describe("best first; empty where none fits"),
    top_n: z.int().describe("how many skills a session uses at a time"),
  }),
);
export type SkillMatches = z.infer<typeof SkillMatches>;

/** Operations on skills. */
export const skillOperations = {
  listSkills: operation({
    id: "list_skills",
    method: "GET",
    path: "/v1/skills",
    summary: "Lists skills with their layers, what is shadowed, and whether they are trusted.",
    audience: "person",
    query: z.strictObject({ workspace: Workspace }),
    answer: SkillList,
    problems: ["forbidden"],
  }),
  showSkill: operation({
    id: "show_skill",
    method: "GET",
    path: "/v1/skills/show",
    summary: "Shows a skill with its instructions and files, trusted or not.",
    audience: "person",
    query: z.strictObject({ skill: Name.describe("its id, or a bare name"), workspace: Workspace }),
    answer: SkillDetails,
    problems: ["not_found", "conflict", "forbidden"],
  }),
  matchSkills: operation({
    id: "match_skills",
    method: "POST",
    path: "/v1/skills/match",
    summary: "Ranks the skills that fit a prompt, as the native agent does, with the reasons.",
    audience: "person",
    body: z.strictObject({
      prompt: z.string().min(1).max(65_536),
      workspace: Workspace,
      working_files: z.array(z.string().max(4_096)).max(200).optional().describe("relative to the workspace"),
    }),
    answer: SkillMatches,
    problems: ["forbidden"],
  }),
  trustSkill: operation({
    id: "trust_skill",
    method: "POST",
    path: "/v1/skills/trust",
    summary:
      "Trusts a skill of a workspace by its content, until a file of it changes: for the caller's sessions or, by an approver, for those of the tenant.",
    audience: "person",
    body: z.strictObject({
      skill: Name.describe("its id, or a bare name"),
      workspace: Workspace,
      digest: z
        .string()
        .regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits")
        .describe("the content that was reviewed; another one is a conflict"),
    }),
    answer: SkillSummary,
    problems: ["not_found", "conflict", "forbidden"],
  }),
  distrustSkill: operation({
    id: "distrust_skill",
    method: "DELETE",
    path: "/v1/skills/trust/{digest}",
    summary: "Takes the trust in a skill's content back.",
    audience: "person",
    params: z.strictObject({ digest: z.string().regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits") }),
    problems: ["not_found"],
  }),
} as const;
