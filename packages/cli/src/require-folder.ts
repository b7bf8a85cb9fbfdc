import { stat } from "node:fs/promises";
import { CliError } from "./errors/cli-error.ts";
import { textOf } from "./errors/render.ts";

/** Refuses a folder to work in that is not there, or is none; `source` is where somebody named it. */
export async function requireFolder(path: string, source: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    throw new CliError(`${source} cannot be used: ${textOf(error)}`, {
      next: "Check the path, or make the folder first.",
      cause: error,
    });
  });
  if (!found.isDirectory())
    throw new CliError(`${source} is ${path}, which is no folder.`, { next: "Give a folder." });
}
