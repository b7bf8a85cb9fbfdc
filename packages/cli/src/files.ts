import { open, readFile, rm, stat } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { errorMessage } from "@reins/kit";
import { z } from "zod";
import { CliError, EXIT, isNotFound, systemCode } from "./errors.ts";

export const CONFIGURATION_FILE = "reins.yaml";

/** Writes a private file that must not exist yet. Removes it when writing fails or is cancelled. */
export async function writeNewFile(
  path: string,
  pieces: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>,
  signal?: AbortSignal,
): Promise<void> {
  const file = await open(path, "wx", 0o600).catch((error: unknown) => {
    throw newFileError(error, path);
  });
  try {
    await pipeline(pieces, file.createWriteStream({ flush: true }), { signal });
  } catch (error) {
    await rm(path, { force: true });
    if (signal?.aborted) throw cancelledError(path, error);
    throw systemCode(error) === undefined ? error : newFileError(error, path);
  }
}

function cancelledError(path: string, cause: unknown): CliError {
  return new CliError(`${path} was cancelled and removed.`, {
    next: "Run the same command again.",
    exitCode: EXIT.failed,
    cause,
  });
}

function newFileError(error: unknown, path: string): CliError {
  if (systemCode(error) === "EEXIST") {
    return new CliError(`${path} already exists.`, {
      next: "Choose another name, or remove it first.",
      cause: error,
    });
  }
  return new CliError(`${path} cannot be written: ${errorMessage(error)}`, {
    next: "Choose another path, or free disk space.",
    exitCode: EXIT.failed,
    cause: error,
  });
}

/** Reads a file that the user named. `message` begins the error. */
export async function readNamedFile(path: string, message: string, next: string): Promise<string> {
  return readFile(path, "utf8").catch((error: unknown) => {
    throw new CliError(`${message}: ${errorMessage(error)}`, { next, cause: error });
  });
}

/** Rejects a path that is no folder; `source` is where it was named. */
export async function requireFolder(path: string, source: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    throw new CliError(`${source} cannot be used: ${errorMessage(error)}`, {
      next: "Check the path, or create the folder first.",
      cause: error,
    });
  });
  if (!found.isDirectory())
    throw new CliError(`${source} is ${path}, which is not a folder.`, { next: "Give a folder." });
}

/** Parses a YAML file; a missing one counts as empty. */
export async function readYamlFile<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<z.output<Schema>> {
  const text = await readIfExists(path);
  if (text === undefined) return schema.parse({});
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { uniqueKeys: true });
  const [fault] = document.errors;
  if (fault) throw unusable(path, fault.message);
  const checked = schema.safeParse(document.toJS() ?? {});
  if (!checked.success) throw unusable(path, z.prettifyError(checked.error));
  return checked.data;
}

/** Undefined when the file does not exist. */
export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export function unusable(path: string, why: string, cause?: unknown): CliError {
  return new CliError(`${path} cannot be used: ${why}`, {
    next: "Repair the file, or remove it to continue without it.",
    ...(cause !== undefined && { cause }),
  });
}
