// What it takes to end agents from another process, and no more: whoever needs it is in a hurry.
export { askKill, type KillAnswer } from "./ask-kill.ts";
export { killLeftBehind } from "./left-behind.ts";
export { KillOrder, KillReport } from "./order.ts";
export { killSocketIn } from "./places.ts";
