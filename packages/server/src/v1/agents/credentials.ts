import { access } from "node:fs/promises";
import { join } from "node:path";
import type { AgentEntry } from "@reins/host";

/** What of an agent's credentials is there, by name. */
export interface FoundCredentials {
  readonly found: readonly string[];
  readonly missing: readonly string[];
}

/** Looks which variables and files there are that an agent could show who it is with; never into them. */
export async function foundCredentials(
  { credentials }: AgentEntry,
  environment: Readonly<Record<string, string | undefined>>,
  userHome: string,
): Promise<FoundCredentials> {
  const files = await Promise.all(
    credentials.files.map(async ({ from }) => ({
      name: `~/${from}`,
      there: await isThere(join(userHome, from)),
    })),
  );
  const variables = credentials.variables.map((name) => ({ name, there: Boolean(environment[name]) }));
  const all = [...variables, ...files];
  const named = (there: boolean) => all.filter((one) => one.there === there).map(({ name }) => name);
  return { found: named(true), missing: named(false) };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
