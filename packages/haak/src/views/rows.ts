import type { SessionRecord } from "@reins/host";
import type { PlacedEntry } from "@reins/ledger";

/** A session as HAAK's table `sessions` has it. */
export interface SessionRow {
  readonly id: string;
  readonly session_key: string;
  readonly agent_id: string;
  readonly backend: string;
  readonly model: string | null;
  readonly mode: SessionRecord["mode"];
  readonly state: SessionRecord["state"];
  /** The key that its agent's turns are signed with, base64; null before the first turn. */
  readonly pubkey: string | null;
  readonly last_activity: string;
  readonly created_at: string;
  /** Why it was closed. */
  readonly close_reason: string | null;
}

/** A turn as HAAK's table `turns` has it; its id is that of its entry in the ledger. */
export interface TurnRow {
  readonly id: string;
  readonly session_id: string;
  readonly seq: number;
  readonly prev_cid: string | null;
  readonly input_hash: string;
  readonly output_hash: string;
  readonly stop_reason: string;
  readonly usage: Readonly<Record<string, unknown>>;
  readonly started_at: string;
  readonly completed_at: string;
  readonly proof: PlacedEntry["entry"]["proof"];
}

/** A message as HAAK's table `history` has it. */
export interface HistoryRow {
  readonly id: string;
  readonly session_id: string;
  /** Null while its turn is under way, and for one that was cut off. */
  readonly turn_id: string | null;
  readonly seq: number;
  readonly role: "user" | "assistant";
  /** The parts of the message, as canonical JSON. */
  readonly content: string;
  readonly created_at: string;
}
