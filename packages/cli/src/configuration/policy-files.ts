import { resolve } from "node:path";
import type { NamedPolicyFiles } from "@reins/supervisor";
import type { Configuration } from "./configuration.ts";

/** The flags that say where a constitution lies, as they were written. */
export interface PolicyFileFlags {
  readonly policy?: string;
  readonly constitution?: string;
}

/** Where it may be said. */
export interface PolicyFileSources {
  readonly home: string;
  readonly flags?: PolicyFileFlags;
  readonly environment: NodeJS.ProcessEnv;
  readonly file?: Pick<Partial<Configuration>, "policy" | "constitution">;
}

/**
 * Where the constitution lies, as far as that is not in the home. What `reins.yaml` names is found from the home, the
 * rest from where the command runs.
 */
export function namedPolicyFiles(sources: PolicyFileSources): NamedPolicyFiles {
  const { home, flags = {}, environment, file = {} } = sources;
  const rules = placeOf(home, flags.policy ?? environment.REINS_POLICY, file.policy);
  const prose = placeOf(home, flags.constitution ?? environment.REINS_CONSTITUTION, file.constitution);
  return { ...(rules !== undefined && { rules }), ...(prose !== undefined && { prose }) };
}

function placeOf(home: string, said: string | undefined, configured: string | undefined): string | undefined {
  if (said) return resolve(said);
  return configured === undefined ? undefined : resolve(home, configured);
}
