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
/** How much of a command's template counts, and how many files of commands are looked at. */
const MAX_TEMPLATE = 1024 * 1024;
const MOST_TEMPLATES = 10_000;

/** A line by which an agent that has read a file already says which. */
const READ_ALREADY = /^Content from @?(.+):$/gmu;
/** A command of a template, which the agent runs when it fills the template in: after a `!` in backticks, or in a fence. */
const SHELL = /!`([^`]+)`|^```!\s*\n([\s\S]*?)^```/gmu;

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
    for (const [, inline, fenced] of template.matchAll(SHELL))
      steps.push({
        tool: row?.templates?.shell ?? "",
        arguments: { command: inline ?? fenced ?? "" },
        title: `run \`${inline ?? fenced}\``,
      });
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
        const named =
          file === "skill.md" ? basename(dirname(path)).toLowerCase() : file.replace(/\.md$/u, "");
        if (named !== name) continue;
        const text = (await readFile(path, "utf8")).slice(0, MAX_TEMPLATE);
        found.push(filledIn(text, given));
      }
  return found;
}

/** A folder and those above it, up to the root that holds it. */
function foldersUpTo(cwd: string, roots: readonly string[]): readonly string[] {
  const all = [cwd];
  for (let folder = cwd; !roots.includes(folder) && dirname(folder) !== folder; ) {
    folder = dirname(folder);
    all.push(folder);
  }
  return [...all, ...roots];
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = (await ifExists(readdir(folder, { recursive: true }))) ?? [];
  if (entries.length > MOST_TEMPLATES) throw new Error(`${folder} holds more than ${MOST_TEMPLATES} files`);
  return entries.filter((entry) => /\.md$/iu.test(entry)).map((entry) => join(folder, entry));
}

function filledIn(template: string, given: string): string {
  const words = given.trim().split(/\s+/u);
  return template
    .replaceAll("$ARGUMENTS", () => given)
    .replaceAll(/\$(?:ARGUMENTS\[)?(\d)\]?/gu, (_, place: string) => words[Number(place) - 1] ?? "");
}
