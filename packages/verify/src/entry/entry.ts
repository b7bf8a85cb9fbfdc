import { ANYTHING, DIGEST, DIGESTS, OBJECT_OR_NULL, TEXT, TEXTS } from "../json/rules.ts";
import type { Shape } from "../json/shape.ts";
import type { JsonObject, JsonValue } from "../json/value.ts";
import { isQuality, QUALITIES } from "./quality.ts";
import { isTimestamp } from "./timestamp.ts";

/** The chain of entries that belong to no session, and the actor that makes them. */
export const SYSTEM = "reins:system";

/** An entry of a ledger: twelve members. */
export type Entry = {
  cid: string;
  entity_id: string;
  target: string;
  quality: string;
  timestamp: string;
  source: string;
  actor: string;
  parents: string[];
  tags: string[];
  payload: JsonValue;
  proof: JsonObject | null;
  envelope: JsonObject | null;
};

export const ENTRY: Shape<Entry> = {
  cid: DIGEST,
  entity_id: TEXT,
  target: TEXT,
  quality: { expected: `one of ${QUALITIES.join(", ")}`, holds: isQuality },
  timestamp: { expected: "a time such as 2026-11-15T05:20:00.000Z", holds: isTimestamp },
  source: TEXT,
  actor: TEXT,
  parents: DIGESTS,
  tags: TEXTS,
  payload: ANYTHING,
  proof: OBJECT_OR_NULL,
  envelope: OBJECT_OR_NULL,
};
