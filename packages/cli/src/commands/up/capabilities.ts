import { EventType, isSpecialised } from "@reins/ahp";

/** What the harness of `reins up` can do: every event that it decides or takes note of, batches and queries. */
export const CAPABILITIES: readonly string[] = [
  ...EventType.options.filter((type) => !isSpecialised(type) && type !== "handshake"),
  "batch",
];
