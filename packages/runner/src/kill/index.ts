// Only what it takes to kill agents from another process, so that `reins kill` loads little.

export { KillOrder, KillReport, killLeftBehind } from "./execute-kill.ts";
export { killSocketIn } from "./journal.ts";
export { type KillAnswer, requestKill } from "./kill-switch.ts";
