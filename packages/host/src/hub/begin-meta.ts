import { type JsonObject, membersOf } from "@reins/acp";
import { SESSION_MODES, type SessionMode } from "../sessions/session-record.ts";
import { SANDBOX } from "./capabilities.ts";

/** What of a client's `_meta` is kept with the session. */
const KEPT = ["title", "model", "mode", "variant", "permissionMode"] as const;

/** The agent that a request names for itself. */
export function agentIn({ _meta }: JsonObject): string | undefined {
  const meta = membersOf(_meta);
  const named = membersOf(meta.reins).agent ?? membersOf(meta[SANDBOX]).agent;
  return typeof named === "string" ? named : undefined;
}

/** Whether a client that introduces itself wants to hear when turns begin and end. */
export function hearsTurnsIn({ _meta }: JsonObject): boolean {
  return membersOf(membersOf(_meta).reins).turns === true;
}

/** What whoever begins a session says of it. */
export function metadataIn({ _meta }: JsonObject): JsonObject {
  const given = membersOf(membersOf(_meta)[SANDBOX]);
  return Object.fromEntries(
    KEPT.flatMap((name) => (typeof given[name] === "string" ? [[name, given[name]]] : [])),
  );
}

/** How a session is to live on, if whoever begins it says so. */
export function modeIn({ _meta }: JsonObject): SessionMode | undefined {
  const { mode } = membersOf(membersOf(_meta).reins);
  return SESSION_MODES.find((known) => known === mode);
}
