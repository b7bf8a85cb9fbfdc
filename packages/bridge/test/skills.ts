import { mkdir, mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Skill } from "../src/skills/skill.ts";

/** A skill of the operator. */
export function skillWith(changes: Partial<Skill> & { readonly id: string }): Skill {
  return {
    ...{ name: changes.id.split("/").at(-1) ?? changes.id, layer: "user", origin: `/skills/${changes.id}` },
    ...{ short: changes.description ?? "", description: "", whenToUse: "" },
    ...{ disableModelInvocation: false, userInvocable: true, requireSignature: false },
    ...{ allowedTools: [], paths: [], hooks: [], trustedSigners: [] },
    trust: { status: "trusted", by: "operator" },
    ...changes,
  };
}

/** A new folder with files, by their paths. */
export async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "skills-")));
  await addFiles(folder, files);
  return folder;
}

export async function addFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

/** A `SKILL.md` with a name and a description. */
export function skillText(name: string, description = `Does ${name}.`, more = ""): string {
  return `---\nname: ${name}\ndescription: ${description}\n${more}---\n# ${name}\n`;
}
