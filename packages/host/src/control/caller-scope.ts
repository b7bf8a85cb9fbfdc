import { randomUUID } from "node:crypto";
import type { AgentEntry } from "@reins/agents";
import type { Harness, Principal, Workspace } from "@reins/supervisor";
import { NATIVE } from "./agent-profile.ts";
import type { AskableScope } from "./scope.ts";

/** The name under which rules and records know what people and services do through the API, without an agent. */
export const CALLER = "api";

/** What the actions of callers are enforced with. */
export interface CallerParts {
  readonly harness: Harness;
  /** An entry of the catalogue; its name is not used. */
  readonly entry: AgentEntry;
  readonly onError: (error: unknown) => void;
}

/** Where a caller of the API acts: in no session, so that its approvals are answered wherever approvals are listed. */
export function callerScope(
  { harness, entry, onError }: CallerParts,
  principal: Principal,
  place: Omit<Workspace, "tools">,
): AskableScope {
  const workspace: Workspace = { ...place, tools: "acp" };
  return {
    context: {
      ...{ harness, principal, entry, profile: NATIVE, enforcement: "performed" },
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
