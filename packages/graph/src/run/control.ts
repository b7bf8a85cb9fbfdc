import type { Graph } from "../declaration/graph.ts";
import type { RunEngine } from "../engine/engine.ts";

/** What a model or a person changes in a run. */
export type Control =
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

/** Sends a control to a run; one that has ended is reopened by it. False for no such run, and for a canceled one. */
export function sendControl<Input, Result>(
  engine: Pick<RunEngine<Input, Result>, "send">,
  run: string,
  control: Control,
): Promise<boolean> {
  return engine.send(run, CONTROL, control, { reopen: true });
}
