import { z } from "zod";

/** The sides from which the policy is seen. */
export const PolicyTab = z.enum([
  "constitution",
  "tests",
  "coverage",
  "draft",
  "explain",
  "roster",
  "grants",
]);
export type PolicyTab = z.infer<typeof PolicyTab>;

/** What the address of the page says. */
export const PolicySearch = z.object({ tab: PolicyTab.optional().catch(undefined) });
