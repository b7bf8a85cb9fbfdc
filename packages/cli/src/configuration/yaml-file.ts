import { readFile } from "node:fs/promises";
import { z } from "zod";
import { CliError } from "../errors/cli-error.ts";
import { isNotThere } from "../errors/system-code.ts";

/** Reads a file of YAML that a person wrote; one that is not there says nothing. */
export async function readYamlFile<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<z.output<Schema>> {
  const text = await readIfThere(path);
  if (text === undefined) return schema.parse({});
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { uniqueKeys: true });
  const [fault] = document.errors;
  if (fault) throw unusable(path, fault.message);
  const checked = schema.safeParse(document.toJS() ?? {});
  if (!checked.success) throw unusable(path, z.prettifyError(checked.error));
  return checked.data;
}

/** The text of a file; `undefined` when it is not there. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error;
  }
}

/** A file that a person has to mend. */
export function unusable(path: string, why: string, cause?: unknown): CliError {
  return new CliError(`${path} cannot be used: ${why}`, {
    next: "Mend the file, or move it away to go without it.",
    ...(cause !== undefined && { cause }),
  });
}
