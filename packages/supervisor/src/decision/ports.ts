import type { Action, ControlEvent, Subject } from "@reins/policy";
import type { RequestContext } from "./request-context.ts";

/** Finds out what an event would do. */
export type GatherFacts = (
  event: ControlEvent,
  subject: Subject,
  requestContext: RequestContext,
) => Promise<Action>;

/** Tells the state of what an action runs, has read by a build tool, or sends. */
export type InputState = (action: Action, cwd: string) => Promise<Readonly<Record<string, string>>>;

/** Tells the state of what an action would change, so that an answer counts for exactly that. */
export type TargetState = (action: Action) => Promise<Readonly<Record<string, string>>>;
