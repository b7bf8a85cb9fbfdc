import { posix } from "node:path";
import type { FilePort } from "./files.ts";

const CONFIG_LIMIT = 64 * 1_024;
const FOLDER_LIMIT = 64;

/** Settings of a repository that name a program, or another file of settings. */
const PROGRAM_SETTING =
  /^(?:fsmonitor|pager|editor|sshcommand|askpass|hookspath|gitproxy|external|textconv|command|clean|smudge|process|driver|program|helper|path|cmd|worktree|uploadpack|receivepack|packobjectshook|alternaterefscommand|recentobjectshook)[ \t]*=(?![ \t]*(?:false\b|true\b|0\b|$))/i;
const PROGRAM_SECTION =
  /^(?:include|includeif|alias|pager|man|browser|web|gui|guitool|sendemail|instaweb)(?:\.|$)/i;
const SECTION = /^\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]/;

/**
 * Why git, run in a folder, may run programs that the repository itself names; `undefined` when it names none. Such
 * settings do not come with a clone, but they do come with an unpacked archive, or by an earlier change.
 */
export async function repositoryPrograms(
  files: FilePort,
  folder: string,
  runsHooks = false,
): Promise<string | undefined> {
  try {
    const config = await findConfig(files, folder);
    if (config === undefined) return undefined;
    const hook = runsHooks ? await firstHook(files, posix.join(posix.dirname(config), "hooks")) : undefined;
    if (hook !== undefined) return `${hook} is a hook that git runs`;
    const own = (await files.readStart(config, CONFIG_LIMIT)) ?? "";
    // Settings of one work tree lie in a file of their own.
    const text = `${own}\n${(await files.readStart(`${config}.worktree`, CONFIG_LIMIT)) ?? ""}`;
    const isLong = text.length >= CONFIG_LIMIT;
    return isLong || namesProgram(text) ? `${config} names programs that git runs` : undefined;
  } catch {
    return `the settings of the repository around ${folder} could not be read`;
  }
}

/** Whether some setting names a program; also where it is written so that it may. */
function namesProgram(text: string): boolean {
  let section = "";
  return text.split("\n").some((line) => {
    let rest = line.trimStart();
    if (rest.startsWith("[")) {
      const [header, name] = SECTION.exec(rest) ?? [];
      if (header === undefined || name === undefined || PROGRAM_SECTION.test(name)) return true;
      section = name.toLowerCase();
      // A setting may follow on the same line.
      rest = rest.slice(header.length).trimStart();
      if (rest.startsWith("[")) return true;
    }
    if (line.endsWith("\\")) return true;
    // A submodule's section has a path that is no program.
    return section === "submodule" ? /^update[ \t]*=[ \t]*!/i.test(rest) : PROGRAM_SETTING.test(rest);
  });
}

const HOOK_LIMIT = 200;

/** The first program in a folder of hooks; examples are none. */
async function firstHook(files: FilePort, folder: string): Promise<string | undefined> {
  if ((await files.lstat(folder)) === undefined) return undefined;
  const entries = await files.list(folder, HOOK_LIMIT);
  if (entries === undefined) return folder;
  const hook = entries.find(({ name }) => !name.endsWith(".sample"));
  return hook && posix.join(folder, hook.name);
}

/** The folder that the repository around a folder is kept in: `.git`, where a file of that name says, or the folder itself. */
async function repositoryAround(files: FilePort, start: string): Promise<string | undefined> {
  let here = (await files.realpath(start)) ?? posix.normalize(start);
  for (let steps = 0; steps < FOLDER_LIMIT; steps += 1) {
    const marker = posix.join(here, ".git");
    const kind = await files.lstat(marker);
    if (kind === "folder" || kind === "link") return marker;
    if (kind === "file") return folderBehind(files, marker, here);
    const isBare =
      (await files.lstat(posix.join(here, "HEAD"))) !== undefined &&
      (await files.lstat(posix.join(here, "objects"))) !== undefined;
    if (isBare) return here;
    if (here === "/") return undefined;
    here = posix.dirname(here);
  }
  return undefined;
}

/** A work tree's `.git` is a file that says where the rest is. */
async function folderBehind(files: FilePort, marker: string, here: string): Promise<string> {
  const text = (await files.readStart(marker, CONFIG_LIMIT)) ?? "";
  return posix.resolve(here, /^gitdir: (.+)$/m.exec(text)?.[1]?.trim() ?? "");
}

/** Where the repository that a folder lies in is kept, and what it shares with other work trees of it. */
export async function repositoryFolders(
  files: FilePort,
  start: string,
): Promise<{ readonly own: string; readonly common: string } | undefined> {
  const own = await repositoryAround(files, start);
  if (own === undefined) return undefined;
  const common = (await files.readStart(posix.join(own, "commondir"), CONFIG_LIMIT))?.trim();
  return { own, common: common === undefined ? own : posix.resolve(own, common) };
}

/** The settings file of the repository that a folder lies in: beside its objects, wherever those are kept. */
async function findConfig(files: FilePort, start: string): Promise<string | undefined> {
  const found = await repositoryFolders(files, start);
  return found && posix.join(found.common, "config");
}

/** The first of some files that lies in a folder or in one above it. */
export async function fileAround(
  files: FilePort,
  start: string,
  names: readonly string[],
): Promise<string | undefined> {
  let here = (await files.realpath(start)) ?? posix.normalize(start);
  for (let steps = 0; steps < FOLDER_LIMIT; steps += 1) {
    for (const name of names) {
      const path = posix.join(here, name);
      if ((await files.lstat(path)) !== undefined) return path;
    }
    if (here === "/") return undefined;
    here = posix.dirname(here);
  }
  return start;
}
