/** How an agent on the roster can be. */
export const STATES: readonly string[] = ["live", "idle", "dead"];
