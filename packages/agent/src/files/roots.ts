import { realpath as realpathCallback } from "node:fs";
import { isAbsolute, relative, sep } from "node:path";
import { promisify } from "node:util";
import { errorCode } from "@reins/kit";

export type FileErrorCode =
  | "outside"
  | "missing"
  | "not_a_file"
  | "not_a_folder"
  | "not_text"
  | "too_large"
  | "invalid";

/** A file that cannot be used. The message is written for the model. */
export class FileError extends Error {
  override readonly name = "FileError";
  readonly code: FileErrorCode;

  constructor(code: FileErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

// The native realpath follows links before it resolves `..`, as opening a file does.
const realpath = promisify(realpathCallback.native);

/** The most missing folders in a path. */
const MAX_MISSING = 64;

/** The folders of a session. No tool touches anything outside of them. */
export class Roots {
  readonly cwd: string;
  readonly #roots: readonly string[];
  #real: Promise<readonly string[]> | undefined;

  constructor(cwd: string, additional: readonly string[] = []) {
    this.cwd = cwd;
    this.#roots = [cwd, ...additional];
  }

  /** The real paths of the folders. Resolved once: a folder that replaces one later is outside. */
  find(): Promise<readonly string[]> {
    this.#real ??= Promise.all(this.#roots.map((root) => resolved(root)));
    return this.#real;
  }

  /**
   * Resolves a path with its links and `..` to a real path; the missing end of a path is appended to the nearest
   * existing folder. Throws when the result is outside.
   */
  async resolve(path: string): Promise<string> {
    if (path.includes("\0")) throw new FileError("invalid", "a path must not contain null characters");
    const asked = isAbsolute(path) ? path : `${this.cwd}/${path}`;
    const [real] = await Promise.all([resolved(asked), this.find()]);
    await this.requireInside(real, path);
    return real;
  }

  /** Throws unless a real path is inside; `shown` is the path as given. */
  async requireInside(real: string, shown: string): Promise<void> {
    const roots = await this.find();
    if (roots.some((root) => isWithin(root, real))) return;
    throw new FileError("outside", `${shown} is outside of the workspace`);
  }

  /** Whether a real path is one of the folders themselves. */
  async isRoot(real: string): Promise<boolean> {
    return (await this.find()).includes(real);
  }

  /** A real path for display: relative to the working folder where it is inside. */
  async shown(real: string): Promise<string> {
    const [cwd = this.cwd] = await this.find();
    return isWithin(cwd, real) ? relative(cwd, real) || "." : real;
  }
}

function isWithin(folder: string, path: string): boolean {
  const inner = relative(folder, path);
  return inner === "" || (inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner));
}

async function resolved(path: string): Promise<string> {
  let existing = path;
  const missing: string[] = [];
  for (;;) {
    try {
      const real = await realpath(existing === "" ? "/" : existing);
      return missing.length === 0 ? real : [real === "/" ? "" : real, ...missing].join("/");
    } catch (error) {
      if (errorCode(error) !== "ENOENT") throw translated(error, path);
    }
    const cut = existing.replace(/\/+$/, "").lastIndexOf("/");
    const name = existing.slice(cut + 1).replace(/\/+$/, "");
    if (name === ".." || missing.length >= MAX_MISSING)
      throw new FileError("invalid", `${path} leads through a folder that does not exist`);
    if (name !== "" && name !== ".") missing.unshift(name);
    existing = existing.slice(0, Math.max(0, cut));
  }
}

function translated(error: unknown, path: string): Error {
  if (errorCode(error) === "ENOTDIR")
    return new FileError("not_a_folder", `a part of ${path} is not a folder`);
  if (errorCode(error) === "ELOOP") return new FileError("invalid", `${path} is a link to itself`);
  if (errorCode(error) === "EACCES") return new FileError("missing", `${path} cannot be reached`);
  return error instanceof Error ? error : new Error(String(error));
}
