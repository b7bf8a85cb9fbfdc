import type { Action, Effect, Place } from "../action.ts";
import { isReadableByAll } from "./path/place-table.ts";

/**
 * Whether an action is known to do no more than look at the workspace, at folders for passing files and at what
 * everybody may read of the system, and change files of the workspace that nothing runs by itself, without destroying what
 * cannot be brought back. It says nothing about whether the change is wanted.
 */
export function isHarmless(action: Action): boolean {
  return !action.opaque && action.doubts.length === 0 && action.effects.every(isHarmlessEffect);
}

/** Whether one effect is harmless by itself. */
export function isHarmlessEffect(effect: Effect): boolean {
  switch (effect.kind) {
    case "read":
      return isOpen(effect.place) || (effect.place === "system" && isReadableByAll(effect.path));
    case "write":
      return isOpen(effect.place) && effect.recoverable !== false;
    case "exec":
      return !effect.opaque;
    case "net":
      return effect.looks === true;
  }
}

function isOpen(place: Place): boolean {
  return place === "workspace" || place === "temporary";
}
