/** What a process does before it kills itself. */
export interface RunsOrder {
  readonly path: string;
  readonly runs: readonly { readonly id: string; readonly seed: number; readonly actions: number }[];
  /** How many steps of each run are stored before the next one is cut. */
  readonly steps: number;
  /** Where the next step of each run is cut: before its effect, or after it. */
  readonly cut: "before" | "after";
  /** Whether the process kills itself at all. */
  readonly isKilled: boolean;
}

/** What it says. */
export type RunsReport =
  | { readonly kind: "ended"; readonly run: string; readonly result: unknown }
  /** A step was executed although its result was stored. */
  | { readonly kind: "repeated"; readonly key: string };
