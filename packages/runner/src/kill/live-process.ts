import type { Mark } from "../process/mark.ts";

/** A process of which others come; it leads a group of its own, and all of them carry its mark. */
export interface ProcessRoot {
  readonly pid: number;
  readonly mark: Mark;
}

/** An agent that runs, as far as it has to be known to end it. Plain, so that another thread can hold it. */
export interface LiveProcess {
  /** Names it until it ends. */
  readonly id: string;
  readonly agent: string;
  /** Null for one that runs inside Reins itself. */
  readonly pid: number | null;
  /** What it consists of: its own process, or the commands that it runs now. */
  readonly roots: readonly ProcessRoot[];
  readonly tenant: string;
  /** The id of the principal that it runs for. */
  readonly principal: string;
  readonly confined: boolean;
  /** The ids of the sessions it holds. */
  readonly sessions: readonly string[];
  /** RFC 3339. */
  readonly started_at: string;
}
