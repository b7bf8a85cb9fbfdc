import type { Principal } from "@reins/supervisor";
import { type CallerParts, callerScope } from "./caller-scope.ts";
import { enforce, type Waiting } from "./enforce.ts";
import { completeSetting } from "./outcome.ts";
import { refusal } from "./verdict.ts";

/** The name under which rules and records know the install of an agent. */
const INSTALL = "agents/install";

/** An install as rules and records see it. */
export interface GovernedInstall {
  readonly agent: string;
  /** Absent where it is found out by the install itself. */
  readonly version?: string | undefined;
  /** What named the version. */
  readonly source?: string | undefined;
  /** Where it is fetched from, if that is no package index. */
  readonly url?: string | undefined;
  /** What the archive there has to be, where that is known. */
  readonly sha256?: string | undefined;
  /** The program that is there already, and its arguments. */
  readonly command?: readonly string[] | undefined;
}

/** Has an install decided before anything is fetched, and records how it ended. Throws if it is not allowed. */
export async function governInstall<Value>(
  parts: CallerParts,
  principal: Principal,
  { agent, version, source, url, sha256, command }: GovernedInstall,
  run: () => Promise<Value>,
  waiting?: Waiting,
): Promise<Value> {
  const scope = callerScope(parts, principal, { cwd: parts.harness.home, roots: [] });
  const given = {
    agent,
    ...(version !== undefined && { version }),
    ...(source !== undefined && { source }),
    ...(url !== undefined && { url }),
    ...(sha256 !== undefined && { sha256 }),
    ...(command !== undefined && { command }),
  };
  const enforced = await enforce(scope, { kind: "setting", tool: INSTALL, arguments: given }, waiting);
  if (enforced.kind !== "allowed") throw await refusal(`the install of ${agent}`, enforced.verdict);
  const { entry } = enforced.verdict;
  try {
    const value = await run();
    await completeSetting(scope, { tool: INSTALL, entry, outcome: "completed" });
    return value;
  } catch (error) {
    await completeSetting(scope, { tool: INSTALL, entry, outcome: "failed" });
    throw error;
  }
}
