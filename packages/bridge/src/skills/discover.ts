import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { opendir, realpath } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { errorCode, errorMessage, type FileStamps, hasCode, visibleText } from "@reins/kit";
import { type Bundle, type BundleBudget, readBundle, readPlainFile } from "./bundle.ts";
import { isSkillId } from "./fields.ts";
import { type TrustSettings, trustIn } from "./signature.ts";
import { type LoadedSkill, type Skill, SkillError, type SkillLayer, type SkillWarning } from "./skill.ts";
import { MAX_SKILL_FILE, parseSkillFile, type SkillFile } from "./skill-file.ts";

/** A folder that holds skills, or is one. */
export interface SkillRoot {
  readonly layer: Exclude<SkillLayer, "host">;
  readonly path: string;
  readonly namespace?: string;
}

/** Bounds of what is read of the operator's folders, and as much of the workspace: neither leaves the other less. */
const BUDGET = { skills: 1_000, entries: 5_000, files: 10_000, bytes: 128 * 1024 * 1024, warnings: 200 };
type Budget = { -readonly [Member in keyof typeof BUDGET]: number };
/** The longest file of a skill that a model reads, in bytes. */
const MAX_TEXT = 256 * 1024;
/** The most entries of one root. */
const MAX_ENTRIES = 1_000;

/** What discovery depends on. */
export interface DiscoveryOptions {
  readonly trust: TrustSettings;
  /** The real folders of the workspace. What lies in them is the word of a repository, whatever layer names it. */
  readonly workspace: readonly string[];
  /** Takes note of all that is read. */
  readonly stamps?: FileStamps;
}

/** Skills in the order in which they were found. */
export interface Discovered {
  readonly skills: readonly Skill[];
  readonly warnings: readonly SkillWarning[];
}

/**
 * Reads the skills of folders: each is one skill, or holds skills one level below. What is wrong with one is reported. A
 * workspace with too many of them takes none away that the operator has.
 */
export async function discoverSkills(
  roots: readonly SkillRoot[],
  options: DiscoveryOptions,
): Promise<Discovered> {
  const skills: Skill[] = [];
  const warnings: SkillWarning[] = [];
  const budgets: readonly [operator: Budget, workspace: Budget] = [{ ...BUDGET }, { ...BUDGET }];
  for (const root of roots) {
    await options.stamps?.note(root.path);
    const real = await realpath(root.path).catch(() => root.path);
    const budget = budgets[isOfWorkspace(root) || isWithinAny(real, options.workspace) ? 1 : 0];
    const warn: Warn = (source, message) => {
      budget.warnings -= 1;
      if (budget.warnings > 0) warnings.push({ source, message });
      else if (budget.warnings === 0) warnings.push({ source, message: "there are more warnings" });
    };
    for (const folder of await skillFolders(root, { ...options, budget }, warn)) {
      budget.skills -= 1;
      if (budget.skills < 0) {
        warn(root.path, `there are more than ${BUDGET.skills} skills; the others are left out`);
        break;
      }
      try {
        skills.push((await readSkill(root, folder, { ...options, budget }, warn)).skill);
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
  { workspace, stamps, budget }: Omit<DiscoveryOptions, "trust"> & { readonly budget: Budget },
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
      budget.entries -= 1;
      if (count > MAX_ENTRIES || budget.entries < 0) {
        warn(
          root.path,
          `there are more than ${Math.min(count - 1, MAX_ENTRIES)} entries; the others are left out`,
        );
        break;
      }
      await stamps?.note(join(real, name));
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
  const { bundle, ...loaded } = await readAgain(skill, options);
  const files = bundle.manifest.files.map(({ path }) => path).filter((path) => path !== SKILL_FILE);
  return { ...loaded, files };
}

/**
 * Reads a file of a skill of a catalogue, as text; throws {@link SkillError} when the skill may no longer be used, or the
 * file is not one that its hashes cover.
 */
export async function readSkillText(skill: Skill, path: string, options: DiscoveryOptions): Promise<string> {
  const { bundle } = await readAgain(skill, options);
  const known = bundle.manifest.files.find((file) => file.path === path);
  if (!known) throw new SkillError("unknown", `${skill.id} has no file ${visibleText(path.slice(0, 200))}`);
  const content = await readPlainFile(join(bundle.folder, path), MAX_TEXT).catch((error: unknown) => {
    throw new SkillError("unavailable", `${path} of ${skill.id} cannot be read: ${errorMessage(error)}`, {
      cause: error,
    });
  });
  if (sha256Of(content) !== known.sha256)
    throw new SkillError("unavailable", `${path} of ${skill.id} changed while it was read`);
  if (!isUtf8(content)) throw new SkillError("malformed", `${path} of ${skill.id} is no text`);
  return Buffer.from(content).toString("utf8");
}

/** Reads a skill again as it is now; throws where it is another one, or not trusted. */
async function readAgain(skill: Skill, options: DiscoveryOptions): Promise<ReadSkill> {
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

interface ReadSkill extends LoadedSkill {
  readonly bundle: Bundle;
}

async function readSkill(
  { layer, namespace }: SkillRoot,
  folder: string,
  { trust, workspace, stamps, budget }: DiscoveryOptions & { readonly budget?: BundleBudget },
  warn: Warn = () => undefined,
): Promise<ReadSkill> {
  const { file, bundle } = await readSkillFolder(folder, budget, stamps);
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
    trust: await trustIn({ id, layer, name, fields, bundle, fromWorkspace }, trust),
  };
  return { skill, body, bundle };
}

/** Reads the `SKILL.md` of a folder together with the manifest that covers it. */
export async function readSkillFolder(
  folder: string,
  budget?: BundleBudget,
  stamps?: FileStamps,
): Promise<{ readonly file: SkillFile; readonly bundle: Bundle }> {
  const content = await readPlainFile(join(folder, SKILL_FILE), MAX_SKILL_FILE);
  const bundle = await readBundle(folder, budget, stamps);
  const sha256 = sha256Of(content);
  const isCovered = bundle.manifest.files.some((file) => file.path === SKILL_FILE && file.sha256 === sha256);
  const [fault = `${SKILL_FILE} changed while it was read`] = bundle.faults;
  if (!isCovered) throw new SkillError("unavailable", fault);
  return { file: parseSkillFile(Buffer.from(content).toString("utf8")), bundle };
}

function sha256Of(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

function isWithinAny(path: string, folders: readonly string[]): boolean {
  return folders.some(
    (folder) => path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep),
  );
}
