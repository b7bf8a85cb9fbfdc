import { access, constants } from "node:fs/promises";
import type { NamedPolicyFiles } from "@reins/supervisor";
import { CliError } from "../../errors/cli-error.ts";
import { textOf } from "../../errors/render.ts";

/** Refuses to start under a constitution that was named and cannot be read: it is not what somebody meant. */
export async function requirePolicyFiles({ rules, prose }: NamedPolicyFiles): Promise<void> {
  await require(rules, "The rules", "--policy, REINS_POLICY or policy in reins.yaml");
  await require(prose, "The constitution", "--constitution, REINS_CONSTITUTION or constitution in reins.yaml");
}

async function require(path: string | undefined, what: string, source: string): Promise<void> {
  if (path === undefined) return;
  await access(path, constants.R_OK).catch((error: unknown) => {
    throw new CliError(`${what} at ${path} cannot be read: ${textOf(error)}`, {
      next: `Check the path that is said by ${source}.`,
      cause: error,
    });
  });
}
