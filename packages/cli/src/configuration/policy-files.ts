import { access, constants } from "node:fs/promises";
import { resolve } from "node:path";
import { errorMessage } from "@reins/kit";
import type { NamedPolicyFiles } from "@reins/supervisor";
import { CliError } from "../errors.ts";
import type { Configuration } from "./configuration.ts";

export interface PolicyFileFlags {
  readonly policy?: string | undefined;
  readonly constitution?: string | undefined;
}

interface PolicyFileSources {
  readonly home: string;
  readonly flags?: PolicyFileFlags;
  readonly environment: NodeJS.ProcessEnv;
  readonly file?: Pick<Partial<Configuration>, "policy" | "constitution">;
}

/**
 * Where the constitution is, as far as that is not in the home. Paths in `reins.yaml` start at the home, others at
 * the current folder.
 */
export function namedPolicyFiles(sources: PolicyFileSources): NamedPolicyFiles {
  const { home, flags = {}, environment, file = {} } = sources;
  const rules = resolveFile(home, flags.policy ?? environment.REINS_POLICY, file.policy);
  const prose = resolveFile(home, flags.constitution ?? environment.REINS_CONSTITUTION, file.constitution);
  return { ...(rules !== undefined && { rules }), ...(prose !== undefined && { prose }) };
}

function resolveFile(
  home: string,
  said: string | undefined,
  configured: string | undefined,
): string | undefined {
  if (said) return resolve(said);
  return configured === undefined ? undefined : resolve(home, configured);
}

/** Rejects a start with a constitution that was named and cannot be read. */
export async function requirePolicyFiles({ rules, prose }: NamedPolicyFiles): Promise<void> {
  await require(rules, "The rules", "--policy, REINS_POLICY or policy in reins.yaml");
  await require(prose, "The constitution", "--constitution, REINS_CONSTITUTION or constitution in reins.yaml");
}

async function require(path: string | undefined, what: string, source: string): Promise<void> {
  if (path === undefined) return;
  await access(path, constants.R_OK).catch((error: unknown) => {
    throw new CliError(`${what} at ${path} cannot be read: ${errorMessage(error)}`, {
      next: `Check the path in ${source}.`,
      cause: error,
    });
  });
}
