import { realpath } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { skillOperations } from "@reins/api";
import { grantSkill, notApplied, revokeSkill, type SessionFolders, type SkillLibrary } from "@reins/host";
import type { Principal } from "@reins/supervisor";
import { required } from "../access/authenticator.ts";
import { HttpProblem } from "../problems.ts";
import type { Routes } from "../routes/router.ts";

/** What the routes for skills read. */
export interface SkillSources {
  readonly skills: SkillLibrary;
  /** Which folders a principal may name; any where it is absent, for the operator. */
  readonly folders?: Pick<SessionFolders, "beyond"> | undefined;
}

type CatalogueSkill = Awaited<ReturnType<SkillLibrary["catalogue"]>>["skills"][number];

/** Skills: list, details, matches and trust. */
export function skillRoutes(sources: () => Promise<SkillSources>): Routes {
  const find = async (principal: Principal, workspace: string | undefined, name: string) => {
    const { skills, place } = await placeFor(sources, principal, workspace);
    return { skills, place, skill: found(await skills.catalogue(place), name) };
  };
  return {
    name: "skills",
    mount(router) {
      router.handle(skillOperations.listSkills, async ({ principal, query: { workspace } }) => {
        const { skills, place } = await placeFor(sources, principal, workspace);
        const catalogue = await skills.catalogue(place);
        return {
          skills: catalogue.skills.map(shown),
          shadowed: catalogue.shadowed.map(({ loserOrigin, ...one }) => ({
            ...one,
            loser_origin: loserOrigin,
          })),
          ambiguous: catalogue.ambiguous,
          disabled_layers: catalogue.disabledLayers,
          warnings: catalogue.warnings,
        };
      });
      router.handle(skillOperations.showSkill, async ({ principal, query: { workspace, skill: name } }) => {
        const { skills, skill } = await find(principal, workspace, name);
        const { body, bundle } = await skills.review(skill);
        return { skill: shown(skill), body, files: bundle.manifest.files, faults: bundle.faults };
      });
      router.handle(skillOperations.matchSkills, async ({ principal, body }) => {
        const { skills, place } = await placeFor(sources, principal, body.workspace);
        const { matches, topN } = await skills.match(place, {
          prompt: body.prompt,
          workingFiles: body.working_files,
        });
        return {
          matches: matches.map(({ skill, score, reason }, index) => ({
            ...{ name: skill.id, score, reason, active: index < topN },
          })),
          top_n: topN,
        };
      });
      router.handle(skillOperations.trustSkill, async ({ principal, harness, body }) => {
        const { place, skills, skill } = await find(principal, body.workspace, body.skill);
        if (skill.digest !== body.digest)
          throw new HttpProblem("conflict", `${skill.id} has changed since it was reviewed; review it again`);
        await grantSkill(harness, principal, skill, new Date());
        return shown(found(await skills.catalogue(place), skill.id));
      });
      router.handle(skillOperations.distrustSkill, async ({ principal, harness, params: { digest } }) => {
        if (await revokeSkill(harness, principal, digest)) return undefined;
        throw new HttpProblem("not_found", "no trust of yours is in that content");
      });
    },
  };
}

/** The skills and the place of a request; a workspace that the principal may not name is refused. */
async function placeFor(
  sources: () => Promise<SkillSources>,
  principal: Principal,
  workspace: string | undefined,
) {
  const { skills, folders } = await required(sources);
  if (workspace === undefined) return { skills, place: { principal, roots: [] } };
  if (!isAbsolute(workspace)) throw new HttpProblem("invalid", "the workspace is an absolute path");
  const real = await realpath(workspace).catch(() => workspace);
  const refusal = await folders?.beyond(principal, real);
  if (refusal !== undefined) throw new HttpProblem("forbidden", `${workspace} cannot be read: ${refusal}`);
  return { skills, place: { principal, roots: [real] } };
}

function found(catalogue: Awaited<ReturnType<SkillLibrary["catalogue"]>>, name: string): CatalogueSkill {
  try {
    return catalogue.find(name);
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    throw new HttpProblem(error.code === "ambiguous" ? "conflict" : "not_found", error.message, {
      cause: error,
    });
  }
}

function shown(skill: CatalogueSkill) {
  const { id, name, layer, origin, digest, trust, short, description, paths, argumentHint } = skill;
  return {
    ...{ id, name, layer, origin, trust, short, description, paths },
    ...(digest !== undefined && { digest }),
    when_to_use: skill.whenToUse,
    allowed_tools: skill.allowedTools,
    disable_model_invocation: skill.disableModelInvocation,
    user_invocable: skill.userInvocable,
    not_applied: notApplied(skill),
    ...(argumentHint !== undefined && { argument_hint: argumentHint }),
  };
}
