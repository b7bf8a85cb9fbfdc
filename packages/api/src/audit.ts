import { z } from "zod";
import { operation } from "./operation.ts";
import { LongLimit } from "./schema.ts";

/** Operations on audit records, apart from the ledger's own, which clients in a browser load. */
export const auditOperations = {
  pullAudit: operation({
    id: "pull_audit",
    method: "GET",
    path: "/v1/audit",
    summary:
      "Returns entries after a cursor as audit records, one JSON document per line, the oldest first; see docs/telemetry.md.",
    audience: "admin",
    query: z.strictObject({
      cursor: z
        .string()
        .max(90)
        .optional()
        .describe("that of the last record that was received, `<seq>.<cid>`; from the beginning without one"),
      format: z.enum(["jsonl", "ocsf"]).optional().describe("by default jsonl"),
      limit: LongLimit.describe("by default 1000"),
    }),
    answer: z.string(),
    media: "application/x-ndjson",
    problems: ["conflict"],
  }),
} as const;
