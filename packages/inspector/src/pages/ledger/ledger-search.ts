import { LedgerQuality } from "@reins/api";
import { z } from "zod";

/** Which entries are wanted, as the address of the page says it. What it says wrongly is passed over. */
export const LedgerSearch = z.object({
  quality: LedgerQuality.optional().catch(undefined),
  session: z.string().min(1).max(1_024).optional().catch(undefined),
  agent: z.string().min(1).max(1_024).optional().catch(undefined),
  tag: z.string().min(1).max(1_024).optional().catch(undefined),
  since: z.iso.datetime({ offset: true }).optional().catch(undefined),
});
export type LedgerSearch = z.infer<typeof LedgerSearch>;

/** Verdicts by which the log is often narrowed; each verdict's entry carries its own as a tag. */
export const VERDICT_TAGS = ["allowed", "ask", "blocked", "modify", "defer"] as const;
