import { readdir, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { blockText, isObject, type JsonObject, readContent, withText } from "@reins/acp";
import { errorMessage } from "@reins/kit";
import type { Workspace } from "@reins/supervisor";
import { enforce } from "../control/enforce.ts";
import { perform } from "../control/outcome.ts";
import type { GovernedSession, Turn } from "./governed-session.ts";
import { defused, defusedWhole, type Mention, mentionsIn } from "./mentions.ts";
import { readDecided, realPlace } from "./text-file.ts";

const READ = "fs/read_text_file";
/** So many files of one prompt are read. */
const MAX_FILES = 32;
/** So many bytes of one file, and of all files of a prompt. */
const MAX_BYTES = 256 * 1024;
const MAX_TOTAL = 1024 * 1024;
/** So many names of a folder are shown. */
const MAX_NAMES = 200;

/** The files of one prompt. */
export class PromptFiles {
  readonly #session: GovernedSession;
  readonly #turn: Turn;
  /** What became of each, by where it is. */
  readonly #read = new Map<string, Promise<string>>();
  #left = MAX_TOTAL;

  constructor(session: GovernedSession, turn: Turn) {
    this.#session = session;
    this.#turn = turn;
  }

  /** What the agent gets in place of a block. */
  async take(block: unknown): Promise<readonly unknown[]> {
    if (!isObject(block)) return [block];
    const text = blockText(block);
    if (text !== undefined) return this.#text(block, text);
    const { type, uri, resource, data } = readContent(block);
    if (type === "resource_link") return this.#link(block, uri);
    // Without content the agent would have to fetch it.
    if (type === "resource" && resource.uri !== undefined && !resource.text && !resource.blob)
      return this.#link(block, resource.uri);
    if (type !== "resource" && uri !== undefined) {
      const { uri: _, ...rest } = block;
      return data ? [rest] : this.#link(block, uri);
    }
    return [block];
  }

  /** A text with the content of what it names behind it. */
  async #text(block: JsonObject, text: string): Promise<readonly unknown[]> {
    const mentions = mentionsIn(text);
    if (mentions.length === 0) return [block];
    const contents: string[] = [];
    const places: number[] = [];
    for (const mention of mentions) {
      const path = await this.#find(mention);
      if (path !== undefined) {
        const known = this.#read.has(path);
        const content = await this.#contentOf(path);
        if (!known) contents.push(content);
      }
      if (path !== undefined || mention.isPath || !mention.isInWord) places.push(mention.at);
    }
    const kept = this.#expands ? withText(block, defused(text, places)) : block;
    return [kept, ...contents.map((content) => this.#shown(block, content))];
  }

  /** The content of what a link names; of one that names no file the address, as text that no agent follows. */
  async #link(block: JsonObject, uri: string | undefined): Promise<readonly unknown[]> {
    const path = uri === undefined ? undefined : pathIn(uri);
    if (path === undefined) {
      const { title, name = "" } = readContent(block);
      return [this.#shown(block, `[A link that Reins did not follow: ${title ?? name} <${uri}>]`)];
    }
    const [absolute = path] = placesOf(path, this.#session.workspace);
    return [this.#shown(block, await this.#contentOf(absolute))];
  }

  #shown({ annotations }: JsonObject, text: string): JsonObject {
    const shown = this.#expands ? defusedWhole(text) : text;
    return { type: "text", text: shown, ...(annotations !== undefined && { annotations }) };
  }

  /** Whether the agent follows references in a text, and nothing keeps it from that. */
  get #expands(): boolean {
    return (
      this.#session.context.profile.interpretsPrompts &&
      this.#session.context.entry.prompts.mentions === "expands"
    );
  }

  /**
   * Where something is that a reference may name; nothing where there is nothing. Where the user may not work, no look is
   * taken: a reference that leads there names it, whether something is there or not.
   */
  async #find({ names }: Mention): Promise<string | undefined> {
    let outside: string | undefined;
    for (const name of names)
      for (const path of placesNamed(name, this.#session.workspace))
        if ((await this.#beyond(path)) !== undefined) outside ??= path;
        else if (await stat(path).catch(() => undefined)) return path;
    return outside;
  }

  /** Why a place is not for the user, by where it leads; whether something is there makes no difference. */
  async #beyond(path: string): Promise<string | undefined> {
    return this.#beyondReal(await realPlace(path));
  }

  #beyondReal(real: string): Promise<string | undefined> {
    const { context, descent } = this.#session;
    return context.folders.beyond(context.principal, real, descent?.worktree);
  }

  /** What a file holds, or why it is not shown; decided and read once for a prompt. */
  #contentOf(path: string): Promise<string> {
    const known = this.#read.get(path);
    if (known) return known;
    const read =
      this.#read.size < MAX_FILES
        ? this.#decideAndRead(path)
        : Promise.resolve(notRead(path, `a prompt names at most ${MAX_FILES} files`));
    this.#read.set(path, read);
    return read;
  }

  async #decideAndRead(path: string): Promise<string> {
    // A path that no person of the tenant may work on is read to no agent either.
    const outside = await this.#beyond(path);
    // Decided by its real path, and read there: a link may lead elsewhere a moment later.
    const before = outside === undefined ? await realpath(path).catch(() => undefined) : undefined;
    const beyond = outside ?? (before === undefined ? undefined : await this.#beyondReal(before));
    const enforced = await enforce(
      this.#session,
      {
        kind: "file_access",
        tool: READ,
        arguments: { path: beyond === undefined ? (before ?? path) : path },
        outOfReach: beyond,
      },
      this.#turn,
    );
    // Outside, the rule that also refuses it would reveal what is there.
    if (beyond !== undefined) return notRead(path, beyond);
    if (enforced.kind !== "allowed") return notRead(path, enforced.verdict.reason);
    const call = { tool: READ, entry: enforced.verdict.entry };
    try {
      return await perform(this.#session, call, () => this.#readAllowed(path, before));
    } catch (error) {
      return notRead(path, errorMessage(error));
    }
  }

  async #readAllowed(path: string, before: string | undefined): Promise<string> {
    if (before === undefined) throw new Error("it is not there");
    if ((await stat(before)).isDirectory()) return this.#listing(path, before);
    const most = Math.min(MAX_BYTES, this.#left);
    const { content, size } = await readDecided(before, most, [this.#session.context.harness.home]);
    this.#left -= Math.min(size, most);
    const cut = size > most ? `; the first ${most} of its ${size} bytes` : "";
    if (content.includes("\0")) return notRead(path, `it is no text, but ${size} bytes`);
    return `[The file ${path}, which the prompt names${cut}]\n${content}\n[End of ${path}]`;
  }

  async #listing(path: string, real: string): Promise<string> {
    const names = (await readdir(real, { withFileTypes: true }))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .toSorted();
    const more = names.length > MAX_NAMES ? [`and ${names.length - MAX_NAMES} more`] : [];
    return [`[The folder ${path}, which the prompt names]`, ...names.slice(0, MAX_NAMES), ...more].join("\n");
  }
}

/** Where something that a reference names may lie. */
export function placesNamed(name: string, workspace: Workspace): readonly string[] {
  return placesOf(pathIn(name) ?? name, workspace);
}

/** Where a path may lead: from the folders of the session, the agent's home and the user's. */
function placesOf(path: string, { cwd, roots, home }: Workspace): readonly string[] {
  if (path.includes("\0")) return [];
  if (path === "~" || path.startsWith("~/"))
    return [homedir(), ...(home === undefined ? [] : [home])].map((base) =>
      resolve(base, `.${path.slice(1)}`),
    );
  // One agent takes what begins with a slash for a path from the session's folder.
  const below = path.startsWith("/") ? [path, resolve(cwd, `.${path}`)] : [resolve(cwd, path)];
  return [...below, ...roots.slice(1).map((root) => resolve(root, path))];
}

function notRead(path: string, reason: string): string {
  return `[The prompt names ${path}, which was not read: ${reason}]`;
}

/** The path that an address names: of a file, of an editor's link to one, or one that stands there by itself. */
function pathIn(uri: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:/iu.test(uri)) return decodedPath(uri);
  try {
    const url = new URL(uri);
    const { protocol, searchParams } = url;
    const named = searchParams.get("path") ?? searchParams.get("file");
    if (protocol === "file:") return fileURLToPath(new URL(`file://${url.pathname}`));
    if (protocol === "http:" || protocol === "https:") return undefined;
    if (named !== null) return named;
    // Editors name files by schemes of their own.
    return /^(?:vscode|zed|cursor|idea|jetbrains)/u.test(protocol) ? decodedPath(url.pathname) : undefined;
  } catch {
    return undefined;
  }
}

function decodedPath(path: string): string {
  const [file = path] = path.split(/[?#]/u, 1);
  try {
    return decodeURIComponent(file);
  } catch {
    return file;
  }
}
