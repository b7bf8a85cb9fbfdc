import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { hookAgent, hookAgents } from "@reins/agents";
import { ifExists } from "@reins/kit";
import type { PromptStep, Workspace } from "@reins/supervisor";
import { mentionsIn } from "../governor/mentions.ts";
import { placesNamed } from "../governor/prompt-files.ts";

/** So many references of a prompt are looked at, and so many places; a prompt with more is refused. */
const MOST_MENTIONS = 2_000;
const MOST_PLACES = 20_000;
/** So long may the template of a command be, and so many files of commands are looked at; beyond, a prompt is refused. */
const MAX_TEMPLATE = 1024 * 1024;
const MOST_TEMPLATES = 10_000;

/** A line by which an agent that has read a file already says which. */
const READ_ALREADY = /^Content from @?(.+):$/gmu;
/** The commands of a template, which the agent runs when it fills the template in: in a fence with a `!`, or in backticks after one. */
const SHELLS = [/```!([\s\S]*?)```/gu, /!`([^`]+)`/gu];
/** What stands in a template for what follows the command: a word of it, counted from 0, or all of it. */
const PLACEHOLDER = /\$ARGUMENTS\[(\d+)\]|\$(\d+)(?!\w)|\$ARGUMENTS/gu;
const HEADER = /^---[^\S\n]*\n([\s\S]*?)\n---/u;

/**
 * What an agent does by itself for a prompt, before its model sees it and without asking its hooks: it reads the files that
 * the prompt names, and runs the commands in the template of a command that the prompt begins with.
 */
export async function promptSteps(
  agent: string,
  prompt: string,
  workspace: Workspace,
): Promise<readonly PromptStep[]> {
  const row = hookAgents().some(({ id }) => id === agent) ? hookAgent(agent) : undefined;
  const templates = row?.templates ? await templatesFor(prompt, row.templates.folders, workspace) : [];
  const steps: PromptStep[] = [];
  for (const template of templates)
    for (const shell of SHELLS)
      for (const [, text = ""] of template.matchAll(shell)) {
        const command = text.trim();
        if (command === "") continue;
        steps.push({
          tool: row?.templates?.shell ?? "",
          arguments: { command },
          title: `run \`${command}\``,
        });
      }
  for (const path of await filesNamed([prompt, ...templates], workspace)) {
    const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true;
    const whole = isFolder ? row?.readsFolders : undefined;
    steps.push({
      path,
      title: `read ${path}`,
      ...(whole === undefined
        ? { tool: "fs/read_text_file", arguments: { path }, tools: "acp" }
        : { tool: whole, arguments: { paths: [join(path, "**")] } }),
    });
  }
  return steps;
}

/** The files and folders that texts name and that are there, in every way in which agents read such references. */
async function filesNamed(texts: readonly string[], workspace: Workspace): Promise<readonly string[]> {
  const names = new Set<string>();
  for (const text of texts) {
    const mentions = mentionsIn(text, MOST_MENTIONS);
    if (mentions.length > MOST_MENTIONS) throw new Error(`it has more than ${MOST_MENTIONS} references`);
    if (mentions.some(({ isCut }) => isCut))
      throw new Error("a reference in it is longer than can be looked at");
    for (const mention of mentions) for (const name of mention.names) names.add(name);
    for (const [, name] of text.matchAll(READ_ALREADY)) if (name !== undefined) names.add(name);
  }
  const places = new Set([...names].flatMap((name) => placesNamed(name, workspace)));
  if (places.size > MOST_PLACES) throw new Error(`it names more than ${MOST_PLACES} places`);
  const found = new Map<string, string>();
  // A `..` leads elsewhere by the text than by the disk where a link stands before it.
  for (const place of [...places].flatMap((each) => [resolve(each), each])) {
    const real = await realpath(place).catch(() => undefined);
    if (real !== undefined && !found.has(real)) found.set(real, place);
  }
  return [...found.values()];
}

/** The templates that a prompt which begins with a command may stand for, with what follows the command filled in. */
async function templatesFor(
  prompt: string,
  folders: readonly string[],
  { cwd, roots, home = homedir() }: Workspace,
): Promise<readonly string[]> {
  const [, command, given = ""] = /^\s*\/(\S+)\s*([\s\S]*)$/u.exec(prompt) ?? [];
  if (command === undefined) return [];
  const name = (command.split(":").at(-1) ?? command).toLowerCase();
  const found: string[] = [];
  for (const base of new Set([...foldersUpTo(cwd, roots), home]))
    for (const folder of folders)
      for (const path of await filesIn(join(base, folder))) {
        const file = basename(path).toLowerCase();
        const isSkill = file === "skill.md";
        const isNamed =
          (isSkill ? basename(dirname(path)).toLowerCase() : file.replace(/\.md$/u, "")) === name;
        if (!isNamed && !isSkill) continue;
        const text = await templateAt(path);
        if (isNamed || namesIn(text).includes(name)) found.push(filledIn(text, given));
      }
  return found;
}

/** A folder and all above it, from any of which the agent may have been started, and the roots. */
function foldersUpTo(cwd: string, roots: readonly string[]): readonly string[] {
  const all = [cwd];
  for (let folder = cwd; dirname(folder) !== folder; ) {
    folder = dirname(folder);
    all.push(folder);
  }
  return [...all, ...roots];
}

/** The files of commands below a folder; what links lead to as well, and no folder below the same one twice. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  const seen = new Set<string>();
  const folders = [folder];
  let count = 0;
  for (const place of folders) {
    const real = await ifExists(realpath(place));
    if (real === undefined) continue;
    // The files of a folder that was seen still count: a skill is named after the link that leads to it.
    const isNew = !seen.has(real);
    seen.add(real);
    for (const entry of (await ifExists(readdir(place, { withFileTypes: true }))) ?? []) {
      count += 1;
      if (count > MOST_TEMPLATES) throw new Error(`${folder} holds more than ${MOST_TEMPLATES} files`);
      const path = join(place, entry.name);
      const kind = entry.isSymbolicLink() ? await stat(path).catch(() => undefined) : entry;
      if (isNew && kind?.isDirectory()) folders.push(path);
      if (kind?.isFile() && /\.md$/iu.test(entry.name)) found.push(path);
    }
  }
  return found;
}

async function templateAt(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > MAX_TEMPLATE) throw new Error(`${path} is longer than ${MAX_TEMPLATE} bytes`);
  return readFile(path, "utf8");
}

/** The words of the name that the header of a skill gives it. */
function namesIn(template: string): readonly string[] {
  const [, header = ""] = HEADER.exec(template) ?? [];
  const [, value = ""] = /^["']?name["']?\s*:(.*(?:\n\s+.*)*)/mu.exec(header) ?? [];
  return value.toLowerCase().split(/[\s"'#:>|]+/u);
}

/** A template with what follows its command filled in, as the agent does it; rejects what only its own parser tells. */
function filledIn(template: string, given: string): string {
  const words = given.trim().split(/\s+/u).filter(Boolean);
  const [, header = ""] = HEADER.exec(template) ?? [];
  const isNamed = /(?:^|[{,])\s*["']?arguments["']?\s*:/mu.test(header);
  const isNumbered = [...template.matchAll(PLACEHOLDER)].some(([, one, two]) => (one ?? two) !== undefined);
  const isPlain = !/["'`\\$|&;<>()*?#[\]{}]/u.test(given);
  if ((isNamed || (isNumbered && !isPlain)) && /[@!]/u.test(template + given))
    throw new Error("what the arguments of its command become cannot be known");
  return template.replaceAll(PLACEHOLDER, (whole, one?: string, two?: string) => {
    const place = one ?? two;
    return place === undefined ? given : (words[Number(place)] ?? whole);
  });
}
