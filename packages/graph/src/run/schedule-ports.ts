import type { Status } from "../declaration/grammar.ts";
import type { Graph, GraphAction } from "../declaration/graph.ts";
import type { RunEngine } from "../engine/engine.ts";
import type { BudgetShare } from "./budget.ts";
import type { ActionOutput, ActionState } from "./progress.ts";

/** What an attempt used. */
export interface AttemptUsage {
  readonly tokens?: number | undefined;
  readonly cost?: number | undefined;
}

/** How one attempt at an action ended, and what it used. */
export type Attempt =
  | ({ readonly kind: "completed"; readonly usage?: AttemptUsage | undefined } & ActionOutput)
  | {
      readonly kind: "failed";
      readonly reason: string;
      readonly output?: unknown;
      readonly usage?: AttemptUsage | undefined;
      /** Whether it may have been done all the same: no policy repeats it, only a decision does. */
      readonly isUnknown?: boolean | undefined;
    }
  /** A verdict or a person denied it. */
  | { readonly kind: "blocked"; readonly reason: string; readonly usage?: AttemptUsage | undefined };

/** What a run came to; every action is accounted for, in the order of the graph. */
export interface RunResult {
  readonly status: Extract<Status, "completed" | "failed" | "canceled" | "blocked">;
  readonly reason?: string | undefined;
  readonly actions: readonly ActionState[];
}

/** What a stopped run needs to go on. */
export type WaitsFor = "permission" | "input" | "model";

/** One attempt that is to be made. */
export interface AttemptRequest {
  readonly run: string;
  readonly action: GraphAction;
  /** The same for the same attempt, also after a crash: an effect with it happens once. */
  readonly key: string;
  /** Aborts when the attempt is to end: it took too long, or the run was cancelled. */
  readonly signal: AbortSignal;
  /** What the actions of the run came to so far. */
  readonly states: ReadonlyMap<string, ActionState>;
  readonly iteration: number;
  /**
   * Takes a share of the tokens and the money that are left to its action and to the run, to be held until it ends: the most
   * that it may use. Waits while other attempts hold all there is, unless told not to.
   */
  readonly takeShare: (options?: { readonly waits: boolean }) => Promise<BudgetShare>;
  /** Reports that the attempt waits for a person, and with `undefined` that it no longer does. */
  readonly waits: (waitsFor: Exclude<WaitsFor, "model"> | undefined) => void;
}

/** How a run that is under way stands. */
export interface RunStanding {
  readonly run: Extract<Status, "running" | "waiting" | "blocked">;
  readonly waitsFor?: WaitsFor | undefined;
  /** Whether the model is to be called: nothing more can run without it, or it wants to know. */
  readonly callsModel: boolean;
  /** The actions that it decides about. */
  readonly undecided?: readonly string[] | undefined;
}

/** A change of an action, of the graph by a revision, or of how the run stands. */
export type RunChange = { readonly action: ActionState } | { readonly graph: Graph } | RunStanding;

/** What a schedule needs of the runtime. */
export interface SchedulePorts {
  /** Governs and executes one attempt. What an executor does is no rejection: that is a failed attempt. */
  readonly attempt: (request: AttemptRequest) => Promise<Attempt>;
  /** The resources that an action writes, the whole workspace as `*`; none for one that only reads. */
  readonly writesOf: (action: GraphAction) => readonly string[];
  /** Whether an action may take tokens: the attempts that may share what is left. */
  readonly usesTokens?: (action: GraphAction) => boolean;
  /** Called with every change. Must be quick, and must not throw. */
  readonly onChange?: (change: RunChange) => void;
  /** The most actions that run at once. */
  readonly parallel: number;
  /** The most attempts of a run, whatever its own budget is. */
  readonly calls?: number | undefined;
}

/** Who changes a run, and what is said with that. Nothing of it decides what follows. */
export interface ControlOrigin {
  /** RFC 3339. */
  readonly at: string;
  /** Who did it, as the ledger names it. */
  readonly by: string;
  /** Whether the model declared it, a person or program did it by a client, or the runtime did. */
  readonly through: "model" | "client" | "runtime";
  readonly note?: string | undefined;
  /** What declared it, as it was written. */
  readonly declaration?: string | undefined;
  /** The session of the run, and its chain in the ledger. */
  readonly session?: string | undefined;
  readonly chain?: string | undefined;
}

/** What a model or a person changes in a run, and who does. */
export type Control = ControlChange & { readonly origin?: ControlOrigin | undefined };

export type ControlChange =
  /** An answer to an action that failed or was blocked. */
  | {
      readonly kind: "decide";
      readonly action: string;
      readonly decision: "retry" | "continue" | "abort";
      /** After how many attempts it failed. Where that is no longer so, the decision answers something else. */
      readonly attempts?: number | undefined;
    }
  /** Cancels some actions; without any, the engine cancels the whole run. */
  | { readonly kind: "cancel"; readonly actions: readonly string[]; readonly reason: string }
  /** Replaces the actions that are neither running nor completed. */
  | { readonly kind: "revise"; readonly graph: Graph };

/** The name under which a run receives controls. */
export const CONTROL = "control";

/**
 * Sends a control to a run; one that has ended is reopened by a decision or a revision. False for no such run, for a
 * canceled one, and for one that has no action any more to cancel.
 */
export function sendControl<Input, Result>(
  engine: Pick<RunEngine<Input, Result>, "send">,
  run: string,
  control: Control,
): Promise<boolean> {
  return engine.send(run, CONTROL, control, { reopen: control.kind !== "cancel" });
}

/**
 * How a run stands, by what each running action waits for. It runs as long as one of them waits for nothing. Then the model is called
 * for a decision; while only a person can decide it is not, unless the declaration says so.
 */
export function standingOf(
  running: readonly (WaitsFor | undefined)[],
  isUndecided: boolean,
  whileWaiting: Graph["whileWaiting"],
): RunStanding {
  if (running.includes(undefined)) return { run: "running", callsModel: false };
  if (isUndecided) return { run: "blocked", waitsFor: "model", callsModel: true };
  const waitsFor = running.find((one) => one === "permission") ?? "input";
  return { run: "waiting", waitsFor, callsModel: whileWaiting === "call_model" };
}
