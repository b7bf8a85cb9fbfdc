import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, normalize, relative } from "node:path";
import type { FileSnippet } from "../control/events.ts";
import { type MayRead, ReadableFolder } from "./workspace-files.ts";

/** The file of a folder that instructs agents who work there. */
const INSTRUCTIONS = "AGENTS.md";
/** How many of its characters are quoted. */
const INSTRUCTION_CHARACTERS = 4_000;
/** How many folders below the workspace are looked at for instructions on the way to a file. */
const DEEPEST = 16;

/** A file that explains a project, the length that is quoted and its relevance. */
const GUIDES: readonly (readonly [file: RegExp, characters: number, weight: number])[] = [
  [/^agents\.md$/i, INSTRUCTION_CHARACTERS, 1],
  [/^claude\.md$/i, 3_000, 0.9],
  [/^readme(\.\w+)?$/i, 2_000, 0.8],
  [/^contributing(\.\w+)?$/i, 1_500, 0.5],
  [/^architecture(\.\w+)?$/i, 1_500, 0.5],
];

/** Whether a file at the top of a workspace explains it. */
export function isGuide(name: string): boolean {
  return GUIDES.some(([file]) => file.test(name));
}

/** Reads what explains a workspace, of the names at its top. */
export async function readGuides(
  folder: ReadableFolder,
  names: readonly string[],
): Promise<readonly FileSnippet[]> {
  const guides = GUIDES.map(async ([file, characters, weight]) => {
    const path = names.find((name) => file.test(name));
    return path === undefined ? [] : readSnippet(folder, path, characters, weight);
  });
  return (await Promise.all(guides)).flat();
}

/** Reads the instructions of the folders between a workspace and a path in it, the nearest to the path first. */
export async function readNested(
  folder: ReadableFolder,
  workspace: string,
  path: string,
): Promise<readonly FileSnippet[]> {
  const inner = isAbsolute(path) ? relative(workspace, path) : normalize(path);
  const names = inner.split("/").filter((name) => name !== "" && name !== ".");
  if (isAbsolute(inner) || names[0] === "..") return [];
  const folders = names.slice(0, DEEPEST).map((_, index) => names.slice(0, index + 1).join("/"));
  const read = folders.map((one) => readSnippet(folder, `${one}/${INSTRUCTIONS}`));
  return (await Promise.all(read)).flat().toReversed();
}

/**
 * Reads the instructions of a person to all agents, by the absolute path of their file. Most have none, and to see that
 * at once takes a fraction of the time in which other threads would follow the path.
 */
export async function readOwn(path: string, mayRead: MayRead): Promise<readonly FileSnippet[]> {
  if (!existsSync(path)) return [];
  const folder = new ReadableFolder(dirname(path), (_, opened) => mayRead(path, opened));
  return readSnippet(folder, basename(path), INSTRUCTION_CHARACTERS, 1, path);
}

/** Whether a snippet has the instructions of a folder below the workspace. */
export function isNested({ path }: FileSnippet): boolean {
  return !isAbsolute(path) && path.endsWith(`/${INSTRUCTIONS}`);
}

async function readSnippet(
  folder: ReadableFolder,
  path: string,
  characters = INSTRUCTION_CHARACTERS,
  relevance_score = 1,
  shown = path,
): Promise<readonly FileSnippet[]> {
  const text = ((await folder.read(path, characters * 4)) ?? "").trim();
  const snippet = text.length > characters ? `${text.slice(0, characters)}\n…` : text;
  return text === "" ? [] : [{ path: shown, snippet, relevance_score }];
}
