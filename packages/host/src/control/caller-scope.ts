import { randomUUID } from "node:crypto";
import type { Harness, Principal, Workspace } from "@reins/supervisor";
import { enforce, type Waiting } from "./enforce.ts";
import { perform, refusal } from "./outcome.ts";
import { type AskableScope, NATIVE } from "./scope.ts";

/** The name under which rules and records know what people and services do through the API, without an agent. */
export const CALLER = "api";

/** What the actions of callers are enforced with. */
export interface CallerParts {
  readonly harness: Harness;
  readonly onError: (error: unknown) => void;
}

/** Where a caller of the API acts: in no session, so that its approvals are answered wherever approvals are listed. */
export function callerScope(
  { harness, onError }: CallerParts,
  principal: Principal,
  place: Omit<Workspace, "tools">,
): AskableScope {
  const workspace: Workspace = { ...place, tools: "acp" };
  return {
    context: {
      ...{ harness, principal, entry: { id: CALLER }, profile: NATIVE, enforcement: "performed" },
      now: () => new Date(),
      newId: randomUUID,
      onFault: (reason) => onError(new Error(`${CALLER}: ${reason}`)),
    },
    id: `${CALLER}:${principal.user}`,
    record: { acts_as: CALLER },
    depth: 0,
    ...{ workspace, served: workspace },
    toolCalls: { begun: 0 },
    clients: {
      notify: () => undefined,
      request: (_method, _params, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        }),
    },
  };
}

/** What a caller changes that is no file and no command, by the name under which rules and records know it. */
export interface CallerChange {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Its name in a refusal; that of the tool when absent. */
  readonly title?: string;
}

/** Has a change of a caller decided before it is made, and records how it ended. Throws if it is not allowed. */
export async function governCaller<Value>(
  parts: CallerParts,
  principal: Principal,
  { tool, arguments: given, title = tool }: CallerChange,
  run: () => Promise<Value>,
  waiting?: Waiting,
): Promise<Value> {
  const scope = callerScope(parts, principal, { cwd: parts.harness.home, roots: [] });
  const enforced = await enforce(scope, { kind: "setting", tool, arguments: given }, waiting);
  if (enforced.kind !== "allowed") throw await refusal(title, enforced.verdict);
  return perform(scope, { tool, entry: enforced.verdict.entry }, run);
}

/** An install as rules and records see it. */
export interface GovernedInstall {
  readonly agent: string;
  /** Absent where it is found out by the install itself. */
  readonly version?: string | undefined;
  /** That of the agent itself, where its package is another one and that version was asked for. */
  readonly agentVersion?: string | undefined;
  /** What named the version. */
  readonly source?: string | undefined;
  /** Where it is fetched from, if that is no package index. */
  readonly url?: string | undefined;
  /** What the archive there has to be, where that is known. */
  readonly sha256?: string | undefined;
  /** The program that is there already, and its arguments. */
  readonly command?: readonly string[] | undefined;
}

/** The install of an agent as a change, which is decided before anything is fetched. */
export function agentInstall(install: GovernedInstall): CallerChange {
  const { agent, version, agentVersion, source, url, sha256, command } = install;
  const given = {
    agent,
    ...(version !== undefined && { version }),
    ...(agentVersion !== undefined && { agent_version: agentVersion }),
    ...(source !== undefined && { source }),
    ...(url !== undefined && { url }),
    ...(sha256 !== undefined && { sha256 }),
    ...(command !== undefined && { command }),
  };
  return { tool: "agents/install", arguments: given, title: `the install of ${agent}` };
}

/** The removal of an agent's installs as a change. */
export function agentRemoval(agent: string): CallerChange {
  return { tool: "agents/remove", arguments: { agent }, title: `the removal of ${agent}` };
}
