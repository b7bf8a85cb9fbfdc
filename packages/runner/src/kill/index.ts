// Only what it takes to kill agents from another process, so that `reins kill` loads little.

export { killLeftBehind } from "./execute-kill.ts";
export { KillOrder, KillReport, killSocketIn } from "./journal.ts";
export { type KillAnswer, requestKill } from "./kill-switch.ts";
