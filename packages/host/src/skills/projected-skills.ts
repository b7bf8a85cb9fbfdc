import type { Skill } from "@reins/bridge";
import type { Principal } from "@reins/supervisor";
import type { SkillLibrary } from "./skill-library.ts";

const MOST = 200;

/**
 * The skills of the home for the folder of a third-party agent: name, description and instructions alone. What else front
 * matter could say there, such as tools that need no asking, hooks, or commands that are run while a skill is read, is
 * left out.
 */
export async function projectedSkills(
  library: SkillLibrary,
  principal: Pick<Principal, "tenant" | "user">,
): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const place = { principal, roots: [] };
  const { usable } = await library.catalogue(place);
  const offered = usable.filter(isProjected).slice(0, MOST);
  return Promise.all(
    offered.map(async (skill) => {
      const { body } = await library.load(place, skill);
      const about = [skill.description, skill.whenToUse].filter((text) => text !== "").join(" ");
      const name = projectedName(skill);
      const front = ["---", `name: ${JSON.stringify(name)}`, `description: ${JSON.stringify(about)}`, "---"];
      return { name, text: [...front, withoutCommands(body), ""].join("\n") };
    }),
  );
}

/**
 * Whether a skill is in the folder of an agent, which the agent's sessions in all workspaces share: one of the home, where
 * no session works. Any other folder may lie in the workspace of some session, and would be the word of a repository there.
 */
export function isProjected({ layer, disableModelInvocation }: Skill): boolean {
  return layer === "user" && !disableModelInvocation;
}

/** The name of a skill in the folder of an agent. */
export function projectedName({ id }: Pick<Skill, "id">): string {
  return id.replaceAll("/", "-");
}

/** Takes apart what agents run while they read a skill: !`command`, and blocks that begin with ```!. */
function withoutCommands(body: string): string {
  return body.replaceAll("!`", "! `").replaceAll("```!", "``` !");
}
