import { createHash } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { type FileHandle, mkdir, open, realpath, rm, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { hasCode, replaceFileIf } from "@reins/kit";
import { z } from "zod";
import { ProcessError } from "../errors.ts";

/** A file that an agent is to find in its home. */
interface HomeFile {
  /** Relative to the home. */
  readonly path: string;
  readonly text: string;
  /** 0600 by default. */
  readonly mode?: number;
}

/** What a private home is made of. */
export interface PrivateHomeOptions {
  /** Holds home, temporary folder and the digests of what was copied last. One agent at a time uses it. */
  readonly folder: string;
  readonly credentials: readonly Credential[];
  readonly files: readonly HomeFile[];
  /** Paths to remove first, relative to the home, because the agent or its tools would read them. */
  readonly clears?: readonly string[];
}

/** The outcome for a credential that an agent may have renewed. */
export interface Collected {
  readonly credential: Credential;
  readonly outcome: Collection;
  /** Why it is unusable, if that was not for its content. */
  readonly error?: unknown;
}

const NOTE = "projected.json";
const noteSchema = z.record(z.string(), z.string());

/** A HOME and a TMPDIR of an agent's own, side by side, with copies of its credentials and the settings it is to have. */
export class PrivateHome {
  /** The HOME. */
  readonly home: string;
  /** The TMPDIR. Not inside the home, nor the other way round: some agents refuse that. */
  readonly temporary: string;
  readonly #options: PrivateHomeOptions;

  private constructor(options: PrivateHomeOptions) {
    this.#options = options;
    this.home = join(options.folder, "home");
    this.temporary = join(options.folder, "tmp");
  }

  /** Creates a home, or prepares an existing one. Files of the agent itself stay. */
  static async prepare(options: PrivateHomeOptions): Promise<PrivateHome> {
    const home = new PrivateHome(options);
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    await home.#opened(async (folder) => {
      for (const name of ["home", "tmp"]) await holding(folder.folder(name), (inner) => inner.makePrivate());
      for (const path of options.clears ?? [])
        await inHome(folder, path, (parent, name) => parent.remove(name));
      const note = await readNote(folder);
      for (const credential of options.credentials) await home.#project(folder, note, credential);
      await folder.replace(NOTE, JSON.stringify(note), 0o600);
      for (const { path, text, mode = 0o600 } of options.files)
        await inHome(folder, path, (parent, name) => parent.replace(name, text, mode));
    });
    return home;
  }

  /** Copies renewed credentials back, unless the user changed them meanwhile. */
  async collect(): Promise<Collected[]> {
    return this.#opened(async (folder) => {
      const note = await readNote(folder);
      const collected: Collected[] = [];
      for (const credential of this.#options.credentials) {
        try {
          const state = await stateOf(folder, note, credential);
          const outcome = await takeBack(note, credential, state);
          collected.push({ credential, outcome });
        } catch (error) {
          collected.push({ credential, outcome: "unusable", error });
        }
      }
      await folder.replace(NOTE, JSON.stringify(note), 0o600);
      return collected;
    });
  }

  async #project(folder: OpenFolder, note: Note, credential: Credential): Promise<void> {
    const state = await stateOf(folder, note, credential);
    const { source } = state;
    const projection = projectionOf(state);
    if (projection === "collect") await takeBack(note, credential, state);
    if (source === undefined || projection === "collect") return;
    if (projection === "project")
      await inHome(folder, credential.to, (parent, name) => parent.replace(name, source, 0o600));
    note[credential.to] = contentDigest(source);
  }

  async #opened<Result>(work: (folder: OpenFolder) => Promise<Result>): Promise<Result> {
    return holding(OpenFolder.open(this.#options.folder), async (folder) => {
      await folder.makePrivate();
      return work(folder);
    });
  }
}

/** For each copy, the digest of what was copied. */
type Note = Record<string, string>;

async function readNote(folder: OpenFolder): Promise<Note> {
  const content = await folder.read(NOTE);
  if (content === undefined) return {};
  try {
    return noteSchema.parse(JSON.parse(content.toString()));
  } catch (cause) {
    throw new ProcessError("unsafe_file", `${NOTE} beside a private home is damaged. Remove it.`, { cause });
  }
}

async function stateOf(folder: OpenFolder, note: Note, credential: Credential): Promise<CredentialState> {
  const { from, to } = credential;
  return {
    source: await sourceOf(from),
    copy: await inHome(folder, to, (parent, name) => parent.read(name)),
    projected: note[to],
  };
}

async function sourceOf(path: string): Promise<Buffer | undefined> {
  try {
    return await holding(folderOf(path), (folder) => folder.read(basename(path)));
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
}

/** The folder of a file of the user's, which may well have been linked to another place. */
async function folderOf(path: string): Promise<OpenFolder> {
  return OpenFolder.open(await realpath(dirname(path)));
}

async function takeBack(note: Note, { from, to }: Credential, state: CredentialState): Promise<Collection> {
  const outcome = collectionOf(state);
  const { copy, source } = state;
  if (outcome !== "collected" || copy === undefined || source === undefined) return outcome;
  const replaced = await holding(folderOf(from), (folder) =>
    folder.replace(
      basename(from),
      copy,
      0o600,
      async () => !source.equals((await folder.read(basename(from))) ?? Buffer.alloc(0)),
    ),
  );
  if (!replaced) return "conflict";
  note[to] = contentDigest(copy);
  return outcome;
}

/** Reaches a file of the home, folder by folder, so that no link on the way is followed. */
async function inHome<Result>(
  folder: OpenFolder,
  path: string,
  work: (parent: OpenFolder, name: string) => Promise<Result>,
): Promise<Result> {
  const parts = path.split("/");
  if (parts.some((part) => part === "" || part === "." || part === ".." || part.includes("\0")))
    throw new ProcessError("unsafe_file", `${path} does not name a file inside a private home.`);
  const descend = async (parent: OpenFolder, [name = "", ...deeper]: readonly string[]): Promise<Result> =>
    deeper.length === 0
      ? work(parent, name)
      : holding(parent.folder(name), (inner) => descend(inner, deeper));
  return descend(folder, ["home", ...parts]);
}

async function holding<Result>(
  opening: Promise<OpenFolder>,
  work: (folder: OpenFolder) => Promise<Result>,
): Promise<Result> {
  const folder = await opening;
  try {
    return await work(folder);
  } finally {
    await folder.close();
  }
}

/** A credential file of the user's that an agent gets a copy of. */
export interface Credential {
  /** The user's own file. */
  readonly from: string;
  /** Where the copy is, relative to the private home. */
  readonly to: string;
}

/** The three states of a credential: the user's file, the agent's copy, and the digest of what was copied last. */
export interface CredentialState {
  readonly source: Buffer | undefined;
  readonly copy: Buffer | undefined;
  readonly projected: string | undefined;
}

/**
 * What to do before an agent starts. `collect`: the agent had renewed its copy and it was not collected,
 * for instance because Reins was killed.
 */
export type Projection = "keep" | "project" | "collect";

/** What to do with a copy after an agent ran. */
export type Collection =
  | "unchanged"
  | "collected"
  /** Both the user and the agent changed it; the user's stays as it is. */
  | "conflict"
  /** The copy is not something that could replace the user's file. */
  | "unusable";

/** Returns the SHA-256 of a content. */
export function contentDigest(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** What to do with a credential before an agent starts. */
export function projectionOf({ source, copy, projected }: CredentialState): Projection {
  if (source === undefined) return "keep";
  if (copy === undefined) return "project";
  if (source.equals(copy)) return "keep";
  return collectionOf({ source, copy, projected }) === "collected" ? "collect" : "project";
}

/** What to do with a credential after an agent ran. */
export function collectionOf({ source, copy, projected }: CredentialState): Collection {
  if (copy === undefined || projected === undefined || contentDigest(copy) === projected) return "unchanged";
  if (source === undefined || contentDigest(source) !== projected) return "conflict";
  return isWhole(copy, source) ? "collected" : "unusable";
}

/** Whether a copy was written to its end, as far as that can be seen. */
function isWhole(copy: Buffer, source: Buffer): boolean {
  return copy.length > 0 && (isJson(copy) || !isJson(source));
}

function isJson(content: Buffer): boolean {
  try {
    JSON.parse(content.toString());
    return true;
  } catch {
    return false;
  }
}

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const THROUGH_DESCRIPTORS = existsSync("/proc/self/fd");
/** No credential or setting is larger. */
const MAX_FILE_BYTES = 4 << 20;

/**
 * A folder that is held open. Its content is reached through the descriptor, so that a folder that is swapped for a
 * link meanwhile is not followed. (Where the system has no `/proc`, by its path.)
 */
export class OpenFolder {
  readonly #handle: FileHandle;
  readonly #path: string;

  private constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.#path = path;
  }

  /** Opens a folder, which must not be a link. */
  static async open(path: string): Promise<OpenFolder> {
    return new OpenFolder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path);
  }

  /** Opens a folder in this one. Replaces anything else of that name. */
  async folder(name: string): Promise<OpenFolder> {
    const at = this.#at(name);
    const openInner = async () =>
      new OpenFolder(await open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), join(this.#path, name));
    try {
      return await openInner();
    } catch (error) {
      if (!hasCode(error, "ENOENT", "ENOTDIR", "ELOOP")) throw error;
      if (!hasCode(error, "ENOENT")) await unlink(at);
      await mkdir(at, { mode: 0o700 });
      return openInner();
    }
  }

  /** Restricts access to the user. */
  async makePrivate(): Promise<void> {
    await this.#handle.chmod(0o700);
  }

  /** Reads a file; undefined if there is none. Throws for anything but a plain file of the user. */
  async read(name: string): Promise<Buffer | undefined> {
    let file: FileHandle;
    try {
      // Without O_NONBLOCK, opening a pipe waits for its other end.
      file = await open(this.#at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch (error) {
      if (hasCode(error, "ENOENT")) return undefined;
      throw this.#unsafe(name, error);
    }
    try {
      const stats = await file.stat();
      const ours = stats.isFile() && stats.uid === process.getuid?.() && stats.size <= MAX_FILE_BYTES;
      if (!ours) throw this.#unsafe(name);
      const content = Buffer.alloc(stats.size);
      const { bytesRead } = await file.read(content, 0, stats.size, 0);
      return content.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  }

  /**
   * Replaces a file atomically and durably. `unless` is called last; if it returns true, nothing is replaced.
   */
  async replace(
    name: string,
    content: string | Buffer,
    mode: number,
    unless: () => Promise<boolean> = async () => false,
  ): Promise<boolean> {
    try {
      return await replaceFileIf(this.#at(name), content, async () => !(await unless()), mode);
    } catch (error) {
      throw hasCode(error, "EISDIR", "ENOTEMPTY") ? this.#unsafe(name, error) : error;
    }
  }

  /** Removes a file or folder with its content. Of a link, only the link is removed. */
  async remove(name: string): Promise<void> {
    await rm(this.#at(name), { recursive: true, force: true });
  }

  /** Closes the descriptor. */
  async close(): Promise<void> {
    await this.#handle.close();
  }

  #at(name: string): string {
    return THROUGH_DESCRIPTORS ? `/proc/self/fd/${this.#handle.fd}/${name}` : join(this.#path, name);
  }

  #unsafe(name: string, cause?: unknown): ProcessError {
    const path = join(this.#path, name);
    return new ProcessError(
      "unsafe_file",
      `${path} has to be a plain file of yours, of at most ${MAX_FILE_BYTES >> 20} MiB, and not a link.`,
      { cause },
    );
  }
}
