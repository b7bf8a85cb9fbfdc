// What it takes to end agents from another process, and no more: whoever needs it is in a hurry.

export { killLeftBehind } from "./execute-kill.ts";
export { killSocketIn } from "./journal.ts";
export { KillOrder, KillReport } from "./order.ts";
export { askKill, type KillAnswer } from "./request-kill.ts";
