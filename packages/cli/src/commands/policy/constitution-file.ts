import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ConstitutionText } from "@reins/policy";
import { policyFiles } from "@reins/supervisor";
import { CliError } from "../../errors/cli-error.ts";
import { textOf } from "../../errors/render.ts";
import { systemCode } from "../../errors/system-code.ts";
import { homeFolder } from "../../home.ts";

/** The flags that every command about a constitution has, as they were written. */
export interface PolicyFlags {
  readonly home?: string;
  readonly tenant?: string;
  readonly json?: boolean;
}

/** Whose constitution and verdicts are meant where nobody says. */
export const DEFAULT_TENANT = "default";

/** The constitution in a file, or that of the home. The prose is the one that lies beside it. */
export async function readConstitutionFile(
  file: string | undefined,
  { home, tenant = DEFAULT_TENANT }: PolicyFlags,
): Promise<ConstitutionText> {
  const path = file ?? policyFiles(homeFolder(home, process.env), tenant).rules;
  const rules = await readFile(path, "utf8").catch((error: unknown) => {
    throw unreadable(path, file === undefined, error);
  });
  return { file: path, rules, prose: await proseBeside(path) };
}

async function proseBeside(path: string): Promise<Uint8Array> {
  try {
    return await readFile(join(dirname(path), "constitution.md"));
  } catch (error) {
    if (systemCode(error) === "ENOENT") return new Uint8Array();
    throw error;
  }
}

function unreadable(path: string, isHomes: boolean, cause: unknown): CliError {
  if (isHomes && systemCode(cause) === "ENOENT")
    return new CliError(`There is no constitution in ${dirname(path)} yet.`, {
      next: "Reins writes one when it first runs there: reins up. Or name a file.",
      cause,
    });
  return new CliError(`${path} cannot be read: ${textOf(cause)}`, {
    next: "Check the path and who may read the file.",
    cause,
  });
}
