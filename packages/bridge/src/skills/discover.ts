import { createHash } from "node:crypto";
import { opendir, realpath } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { errorCode, errorMessage, hasCode, visibleText } from "@reins/kit";
import { type Bundle, readBundle, readPlainFile } from "./bundle.ts";
import { isSkillId } from "./fields.ts";
import { type LoadedSkill, type Skill, SkillError, type SkillLayer, type SkillWarning } from "./skill.ts";
import { MAX_SKILL_FILE, parseSkillFile, type SkillFile } from "./skill-file.ts";
import { type TrustSettings, trustIn } from "./trust.ts";

/** A folder that holds skills, or is one. */
export interface SkillRoot {
  readonly layer: Exclude<SkillLayer, "host">;
  readonly path: string;
  readonly namespace?: string;
}

/** Bounds of discovery. */
const MAX_ENTRIES = 1_000;
const MAX_SKILLS = 1_000;

/** What discovery depends on. */
export interface DiscoveryOptions {
  readonly trust: TrustSettings;
  /** The real folders of the workspace. What lies in them is the word of a repository, whatever layer names it. */
  readonly workspace: readonly string[];
}

/** Skills in the order in which they were found. */
export interface Discovered {
  readonly skills: readonly Skill[];
  readonly warnings: readonly SkillWarning[];
}

/** Reads the skills of folders: each is one skill, or holds skills one level below. What is wrong with one is reported. */
export async function discoverSkills(
  roots: readonly SkillRoot[],
  options: DiscoveryOptions,
): Promise<Discovered> {
  const skills: Skill[] = [];
  const warnings: SkillWarning[] = [];
  const warn = (source: string, message: string) => void warnings.push({ source, message });
  for (const root of roots) {
    for (const folder of await skillFolders(root, options, warn)) {
      if (skills.length >= MAX_SKILLS) {
        warn(root.path, `there are more than ${MAX_SKILLS} skills; the others are left out`);
        return { skills, warnings };
      }
      try {
        skills.push((await readSkill(root, folder, options, warn)).skill);
      } catch (error) {
        warn(folder, errorMessage(error));
      }
    }
  }
  return { skills, warnings };
}

type Warn = (source: string, message: string) => void;

/** The folders of a root that have a `SKILL.md`, resolved. Links that leave the root are not followed. */
async function skillFolders(
  root: SkillRoot,
  { workspace }: DiscoveryOptions,
  warn: Warn,
): Promise<readonly string[]> {
  const real = await realpath(root.path).catch((error: unknown) => {
    if (!hasCode(error, "ENOENT", "ENOTDIR"))
      warn(root.path, `it cannot be read (${errorCode(error) ?? "error"})`);
    return undefined;
  });
  if (real === undefined) return [];
  // A folder of the workspace that is a link to elsewhere would bring in files that the workspace does not hold.
  if (isOfWorkspace(root) && !isWithinAny(real, workspace)) {
    warn(root.path, "it is a link that leaves the workspace");
    return [];
  }
  if (await holdsSkill(real)) return [real];
  const folders: string[] = [];
  let count = 0;
  try {
    for await (const { name } of await opendir(real)) {
      count += 1;
      if (count > MAX_ENTRIES) {
        warn(root.path, `it has more than ${MAX_ENTRIES} entries; the others are left out`);
        break;
      }
      const folder = await realpath(join(real, name)).catch(() => undefined);
      if (folder === undefined || !(await holdsSkill(folder))) continue;
      const stays = isWithinAny(folder, isOfWorkspace(root) ? workspace : [real]);
      if (stays) folders.push(folder);
      else warn(join(root.path, name), "it is a link that leaves the folder");
    }
  } catch (error) {
    if (!hasCode(error, "ENOTDIR")) warn(root.path, errorMessage(error));
  }
  return folders.toSorted();
}

function isOfWorkspace({ layer }: SkillRoot): boolean {
  return layer === "project" || layer === "package";
}

/** Whether a folder has a `SKILL.md` of its own, and no link to one. */
async function holdsSkill(folder: string): Promise<boolean> {
  const file = join(folder, SKILL_FILE);
  return realpath(file).then(
    (real) => real === file,
    () => false,
  );
}

const SKILL_FILE = "SKILL.md";

/** Reads a skill of a catalogue again, with its body; throws {@link SkillError} when it may no longer be used. */
export async function reloadSkill(skill: Skill, options: DiscoveryOptions): Promise<LoadedSkill> {
  const { layer, namespace, origin } = skill;
  const unavailable = () => new SkillError("unavailable", `${skill.id} is no longer there`);
  if (layer === "host" || (await realpath(origin).catch(() => undefined)) !== origin) throw unavailable();
  const now = await readSkill(
    { layer, path: origin, ...(namespace !== undefined && { namespace }) },
    origin,
    options,
  );
  if (now.skill.id !== skill.id) throw unavailable();
  const { trust } = now.skill;
  if (trust.status === "untrusted")
    throw new SkillError("untrusted", `${skill.id} may not be used: ${trust.reason}`);
  return now;
}

async function readSkill(
  { layer, namespace }: SkillRoot,
  folder: string,
  { trust, workspace }: DiscoveryOptions,
  warn: Warn = () => undefined,
): Promise<LoadedSkill> {
  const { file, bundle } = await readSkillFolder(folder);
  const { name = basename(folder), fields, warnings, body } = file;
  const id = namespace === undefined ? name : `${namespace}/${name}`;
  for (const warning of warnings) warn(folder, warning);
  if (!isSkillId(id))
    throw new SkillError("malformed", `${visibleText(id.slice(0, 100))} is no name for a skill`);
  if (fields.description === "") throw new SkillError("malformed", "it has no description");
  const fromWorkspace = layer === "project" || layer === "package" || isWithinAny(folder, workspace);
  const skill = {
    ...fields,
    ...{ id, name, layer, origin: folder, digest: bundle.digest },
    ...(namespace !== undefined && { namespace }),
    trust: await trustIn({ name, fields, bundle, fromWorkspace }, trust),
  };
  return { skill, body };
}

/** Reads the `SKILL.md` of a folder together with the manifest that covers it. */
export async function readSkillFolder(
  folder: string,
): Promise<{ readonly file: SkillFile; readonly bundle: Bundle }> {
  const content = await readPlainFile(join(folder, SKILL_FILE), MAX_SKILL_FILE);
  const bundle = await readBundle(folder);
  const sha256 = createHash("sha256").update(content).digest("hex");
  const isCovered = bundle.manifest.files.some((file) => file.path === SKILL_FILE && file.sha256 === sha256);
  if (!isCovered) throw new SkillError("unavailable", `${SKILL_FILE} changed while it was read`);
  return { file: parseSkillFile(Buffer.from(content).toString("utf8")), bundle };
}

function isWithinAny(path: string, folders: readonly string[]): boolean {
  return folders.some(
    (folder) => path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep),
  );
}
