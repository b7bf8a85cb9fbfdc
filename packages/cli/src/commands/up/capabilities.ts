import { EventType } from "@reins/ahp";

/** What the harness of `reins up` can do: every event that it decides, answers or takes note of, batches and queries. */
export const CAPABILITIES: readonly string[] = [
  ...EventType.options.filter((type) => type !== "handshake"),
  "batch",
];
