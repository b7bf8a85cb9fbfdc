import { posix } from "node:path";
import type { FilePort } from "../files.ts";

const CONFIG_LIMIT = 64 * 1_024;
const FOLDER_LIMIT = 64;

/** Settings of a repository that name a program, or another file of settings. */
const PROGRAM_SETTING =
  /^(?:fsmonitor|pager|editor|sshcommand|askpass|hookspath|gitproxy|external|textconv|command|clean|smudge|process|driver|program|helper|path|cmd|vcs|worktree|uploadpack|receivepack|packobjectshook|alternaterefscommand|recentobjectshook)[ \t]*=(?![ \t]*(?:false|true|0)?[ \t\r]*(?:[#;]|$))/i;
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
  return programsOf(files, folder, runsHooks, new Set());
}

/** More repositories in one another than this are not looked into. */
const NESTED_LIMIT = 32;

/** @param seen where the repositories are kept that were looked into */
async function programsOf(
  files: FilePort,
  folder: string,
  runsHooks: boolean,
  seen: Set<string>,
): Promise<string | undefined> {
  try {
    const found = await repositoryFolders(files, folder);
    if (found === undefined || seen.has(found.own)) return undefined;
    const { own, common } = found;
    if (seen.size >= NESTED_LIMIT) return `${folder} is one of too many submodules to look into`;
    seen.add(own);
    const hook = await firstHook(files, posix.join(common, "hooks"), runsHooks);
    if (hook !== undefined) return `${hook} is a hook that git runs`;
    // Settings of one work tree lie in a file of their own.
    for (const config of new Set([
      `${common}/config`,
      `${common}/config.worktree`,
      `${own}/config.worktree`,
    ])) {
      const text = (await files.readStart(config, CONFIG_LIMIT)) ?? "";
      // A submodule's settings say where its files lie, which its place in the other repository says as well.
      const settings = seen.size > 1 ? text.replace(/^[ \t]*worktree[ \t]*=[^\\\n]*$/gim, "") : text;
      if (text.length >= CONFIG_LIMIT || namesProgram(settings))
        return `${config} names programs that git runs`;
    }
    return await submodulePrograms(files, folder, seen);
  } catch {
    return `the settings of the repository around ${folder} could not be read`;
  }
}

/** Git runs itself in each submodule to see what changed there, by the settings of that. */
async function submodulePrograms(
  files: FilePort,
  folder: string,
  seen: Set<string>,
): Promise<string | undefined> {
  const real = (await files.realpath(folder)) ?? posix.normalize(folder);
  const index = await gitIndexAround(files, posix.join(real, "any"));
  for (const path of index?.submodules ?? []) {
    const reason = await programsOf(files, posix.join(index?.root ?? "", path), false, seen);
    if (reason !== undefined) return reason;
  }
  return undefined;
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
    // `ext::command`: a way to another repository that is a program, which git takes for objects it lacks.
    if (/^(?:remote|url)$/.test(section) && line.includes("::")) return true;
    // A submodule's section has a path that is no program.
    return section === "submodule" ? /^update[ \t]*=[ \t]*!/i.test(rest) : PROGRAM_SETTING.test(rest);
  });
}

const HOOK_LIMIT = 200;

/** Hooks that git runs whenever it writes its index, as it does for a `git status`. */
const ALWAYS = /^post-index-change$/;

/** The first program in a folder of hooks that git runs; examples are none. */
async function firstHook(files: FilePort, folder: string, runsAll: boolean): Promise<string | undefined> {
  if ((await files.lstat(folder)) === undefined) return undefined;
  const entries = await files.list(folder, HOOK_LIMIT);
  if (entries === undefined) return folder;
  const hook = entries.find(({ name }) => (runsAll ? !name.endsWith(".sample") : ALWAYS.test(name)));
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

/** A file as git's index has it: what it looked like when its content was put into the repository. */
interface TrackedFile {
  /** The hash of its content, in hexadecimal. */
  readonly hash: string;
  readonly size: number;
  readonly modified: IndexTime;
  readonly changed: IndexTime;
}

/** Seconds and nanoseconds since 1970; the latter are 0 where git did not keep them. */
export interface IndexTime {
  readonly seconds: number;
  readonly nanoseconds: number;
}

/** The index of a work tree. */
export interface GitIndex {
  /** The work tree's folder. */
  readonly root: string;
  /** When it was written, in nanoseconds since 1970. */
  readonly written: bigint;
  readonly files: ReadonlyMap<string, TrackedFile>;
  /** The paths at which it has other repositories. */
  readonly submodules: readonly string[];
}

const INDEX_LIMIT = 32 * 1_024 * 1_024;
const TEXT_LIMIT = 4_096;
const FOLDERS_ABOVE = 64;
const KEPT = 8;

/** Indexes that were read, by path and the time they were written. */
const known = new Map<string, GitIndex>();

/** The index of the work tree that a path lies in, read without running git; `undefined` when there is none to be read. */
export async function gitIndexAround(files: FilePort, path: string): Promise<GitIndex | undefined> {
  for (let here = posix.dirname(path), steps = 0; steps < FOLDERS_ABOVE; steps += 1) {
    const folder = await repositoryOf(files, here);
    if (folder !== undefined) return readIndex(files, here, posix.join(folder, "index"));
    if (here === "/") return undefined;
    here = posix.dirname(here);
  }
  return undefined;
}

/** Where the repository of a work tree is kept, if the folder is one: in `.git`, or where a file of that name says. */
async function repositoryOf(files: FilePort, root: string): Promise<string | undefined> {
  const marker = posix.join(root, ".git");
  const kind = await files.lstat(marker);
  if (kind === "folder") return marker;
  if (kind !== "file") return undefined;
  const given = /^gitdir: (.+)$/m.exec((await files.readStart(marker, TEXT_LIMIT)) ?? "")?.[1]?.trim();
  return given === undefined ? undefined : posix.resolve(root, given);
}

async function readIndex(files: FilePort, root: string, path: string): Promise<GitIndex | undefined> {
  const state = await files.state(path);
  if (state === undefined || state.size > INDEX_LIMIT) return undefined;
  const key = `${path}\n${state.modified}\n${state.size}`;
  const earlier = known.get(key);
  if (earlier) return earlier;
  const bytes = await files.bytes(path, INDEX_LIMIT);
  const tracked = bytes && parseIndex(bytes);
  if (!tracked) return undefined;
  const index = { root, written: state.modified, ...tracked };
  known.set(key, index);
  const [oldest] = known.keys();
  if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
  return index;
}

const HEADER = 12;
/** The fields before the flags, with the 20 bytes of a SHA-1. */
const FIXED = 60;
const MODE_OF_SUBMODULE = 0o160000;
const EXTENDED = 0x4000;
const STAGE = 0x3000;
const INTENT_TO_ADD = 0x2000;

/** Reads an index of version 2, 3 or 4; `undefined` for what is not one. Files with conflicts are left out. */
function parseIndex(bytes: Uint8Array): Pick<GitIndex, "files" | "submodules"> | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEADER || view.getUint32(0) !== 0x44495243) return undefined;
  const version = view.getUint32(4);
  if (version < 2 || version > 4) return undefined;
  const files = new Map<string, TrackedFile>();
  const submodules: string[] = [];
  const decoder = new TextDecoder();
  let [at, last]: [number, Uint8Array] = [HEADER, new Uint8Array()];
  for (let left = view.getUint32(8); left > 0; left -= 1) {
    if (at + FIXED + 4 > bytes.length) return undefined;
    const flags = view.getUint16(at + FIXED);
    const isExtended = (flags & EXTENDED) !== 0;
    const more = isExtended ? view.getUint16(at + FIXED + 2) : 0;
    let from = at + FIXED + (isExtended ? 4 : 2);
    let kept = 0;
    if (version === 4) {
      const removed = varint(bytes, from);
      if (removed === undefined || removed.value > last.length) return undefined;
      from = removed.next;
      kept = last.length - removed.value;
    }
    const end = bytes.indexOf(0, from);
    if (end < 0) return undefined;
    const name = new Uint8Array(kept + end - from);
    name.set(last.subarray(0, kept));
    name.set(bytes.subarray(from, end), kept);
    last = name;
    if (view.getUint32(at + 24) === MODE_OF_SUBMODULE) submodules.push(decoder.decode(name));
    if ((flags & STAGE) === 0 && (more & INTENT_TO_ADD) === 0) {
      files.set(decoder.decode(name), {
        hash: Buffer.from(bytes.subarray(at + 40, at + FIXED)).toString("hex"),
        changed: { seconds: view.getUint32(at), nanoseconds: view.getUint32(at + 4) },
        modified: { seconds: view.getUint32(at + 8), nanoseconds: view.getUint32(at + 12) },
        size: view.getUint32(at + 36),
      });
    }
    at = version === 4 ? end + 1 : at + Math.ceil((end + 1 - at) / 8) * 8;
  }
  return { files, submodules };
}

/** A number in git's offset encoding. */
function varint(bytes: Uint8Array, from: number): { value: number; next: number } | undefined {
  let value = 0;
  for (let at = from; at < from + 5; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) return undefined;
    value = at === from ? byte & 0x7f : (value + 1) * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, next: at + 1 };
  }
  return undefined;
}
