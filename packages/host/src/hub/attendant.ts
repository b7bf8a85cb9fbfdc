import type { JsonObject } from "@reins/acp";
import type { SessionRecord } from "../sessions/session-record.ts";

/** Attends to sessions while nobody prompts them. */
export interface Attendant {
  /** Takes a notification of a client before the session's agent hears of it; whether it did. */
  takes(session: SessionRecord, method: string, params: JsonObject): boolean;
  /** Told when a turn of a session has ended. */
  rests(session: SessionRecord): void;
  /** Attends to nobody any more. */
  close(): void;
}
