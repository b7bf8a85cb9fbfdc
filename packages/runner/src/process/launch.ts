import type { Confinement } from "../sandbox/confinement.ts";

/** How an agent is started. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** Everything the child gets, but for the mark; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** What a person calls it. */
  readonly label: string;
  /** What the operating system keeps it from; without one, nothing. */
  readonly confinement?: Confinement;
}
