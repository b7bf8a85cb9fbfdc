import { EventType } from "@reins/ahp";

/** What the harness of `reins up` can do: every event, and batches. It answers no queries. */
export const CAPABILITIES: readonly string[] = [
  ...EventType.options.filter((type) => type !== "handshake" && type !== "query"),
  "batch",
];
