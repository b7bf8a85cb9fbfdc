import type { ControlEvent } from "@reins/policy";

/** Where an agent works, as far as the harness knows. Keep one object per session: what follows from it is found out once. */
export interface Workspace {
  /** Where relative paths and commands start, absolute. */
  readonly cwd: string;
  /** The folders the session works in, absolute; without any, nothing lies in the workspace. */
  readonly roots: readonly string[];
  /** Where these really lay when the session was let into them; without it, the first decision finds out. */
  readonly realRoots?: readonly string[] | undefined;
  /** The agent's home, absolute; by default the user's. */
  readonly home?: string | undefined;
  /** The variables that the agent's commands are known to see. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Whose tool table applies; by default that of the agent's own name. */
  readonly tools?: string | undefined;
}

/** Where and when an action takes place. */
export interface RequestContext {
  readonly workspace: Workspace;
  /** The turn it belongs to, if it is known. */
  readonly turn?: string | undefined;
  /** Called right before the action is allowed; rejects with the reason if the requester lost its rights. */
  readonly confirm?: (() => Promise<void>) | undefined;
  /** Why a person has to decide when no rule matches. */
  readonly ask?: string | undefined;
  /** Why an event is beyond what whoever began the session gave it; blocked then, whatever the policy says. */
  readonly bounds?: ((event: ControlEvent, tool: string) => string | undefined) | undefined;
}
