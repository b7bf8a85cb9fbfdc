import type { Action, ControlEvent, Subject } from "@reins/policy";
import type { Setting } from "./workplace.ts";

/** Finds out what an event would do. */
export type GatherFacts = (event: ControlEvent, subject: Subject, setting: Setting) => Promise<Action>;

/** Tells the state of what an action runs, has read by a build tool, or sends. */
export type InputState = (action: Action, cwd: string) => Promise<Readonly<Record<string, string>>>;

/** Tells the state of what an action would change, so that an answer counts for exactly that. */
export type TargetState = (action: Action) => Promise<Readonly<Record<string, string>>>;
