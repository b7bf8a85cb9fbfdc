import { z } from "zod";
import { named } from "../named.ts";
import { Hash, Moment } from "../text.ts";
import { Effect, Enforcement } from "./action.ts";

/** A standing permission that people gave by saying "always". */
export const Grant = named(
  "Grant",
  z.looseObject({
    id: z.string(),
    tenant: z.string(),
    user: z.string(),
    agent: z.string(),
    chain: z.array(z.string()),
    enforcement: Enforcement,
    event_type: z.string(),
    tool: z.string(),
    effects: z.array(Effect),
    cwd: z.string(),
    arguments: z.unknown().optional().describe("absent where the effects say all"),
    input_state: z
      .record(z.string(), z.string())
      .optional()
      .describe("what the files were that it depends on; it lapses when one changes"),
    prefix: z
      .array(z.string())
      .optional()
      .describe("it covers single plain commands that begin so, in this folder"),
    binding: Hash,
    approval: z.string(),
    by: z.array(z.string()),
    created_at: Moment,
    expires_at: Moment.optional(),
    revoked_at: Moment.optional(),
    revoked_by: z.string().optional(),
    uses: z.int(),
    used_at: Moment.optional(),
    unreadable: z.string().optional().describe("why it cannot be shown exactly; it allows nothing then"),
  }),
);
export type Grant = z.infer<typeof Grant>;

/** Some grants, and where the next ones begin. */
export const GrantPage = named(
  "GrantPage",
  z.looseObject({ grants: z.array(Grant), next: z.string().optional() }),
);
