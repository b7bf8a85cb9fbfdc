import type { JsonObject } from "../acp/message.ts";
import type { ShownCall } from "./turn-event.ts";

/** What was said to a call. */
export type Permission =
  | {
      readonly kind: "given";
      /** What is to be done instead of what was asked, where it was changed. */
      readonly modified?: JsonObject;
    }
  | { readonly kind: "refused"; readonly reason: string };

/** Whoever is asked before anything is done. Rejects when the turn is cancelled. */
export interface PermissionGate {
  ask(call: ShownCall, signal: AbortSignal): Promise<Permission>;
}
