import { z } from "zod";
import { named } from "../named.ts";
import { Hash, Moment } from "../text.ts";
import { Action, Enforcement } from "./action.ts";

/** Where an approval stands. */
export const ApprovalState = z.enum(["pending", "approved", "denied", "expired", "withdrawn", "used"]);

/** What a person may say. */
export const ApprovalOption = z.enum(["allow_once", "allow_always", "deny"]);

/** What one person said. */
export const ApprovalAnswer = named(
  "ApprovalAnswer",
  z.looseObject({
    by: z.string(),
    decision: ApprovalOption,
    note: z.string().optional(),
    prefix: z.array(z.string()).optional().describe("the beginning of the command that was allowed always"),
    at: Moment,
  }),
);

/** A question to people about one action, exactly as long as it waits; then, without secrets, what became of it. */
export const Approval = named(
  "Approval",
  z.looseObject({
    id: z.string(),
    tenant: z.string(),
    user: z.string(),
    agent: z.string(),
    chain: z.array(z.string()).describe("the agents between the user's own and the one that asks"),
    session: z.string(),
    turn: z.string().optional(),
    event_type: z.string(),
    tool: z.string(),
    facts: Action,
    enforcement: Enforcement,
    binding: Hash.describe("what an answer counts for, and nothing else"),
    cwd: z.string(),
    target_state: z.record(z.string(), z.string()).describe("what the files to be changed are now"),
    input_state: z
      .record(z.string(), z.string())
      .optional()
      .describe("what the files are now that are run, read by a build tool, or sent"),
    command: z
      .looseObject({ words: z.array(z.string()), folder: z.string().optional() })
      .optional()
      .describe("the words of a single plain command, of which a prefix can be allowed always"),
    prefixes: z
      .array(z.array(z.string()))
      .optional()
      .describe("beginnings of the command that the one who looks can allow always"),
    rule: z.string().optional(),
    reason: z.string(),
    options: z.array(ApprovalOption).describe("what the one who looks may answer while it waits"),
    quorum: z.int().describe("how many people must agree; from two on, the user who asks is none of them"),
    approvers: z
      .array(z.string())
      .optional()
      .describe("the roles that may answer, beside admins; by default its user, and approvers"),
    four_eyes: z.boolean().optional().describe("whether the user who asks cannot agree to it"),
    answers: z.array(ApprovalAnswer),
    state: ApprovalState,
    created_at: Moment,
    expires_at: Moment,
    entry: Hash.describe("the ledger entry that asked"),
    unreadable: z.string().optional().describe("why it cannot be shown exactly; it can only be denied then"),
  }),
);
export type Approval = z.infer<typeof Approval>;

/** What those are shown whom an approval does not concern: that it is there, not what it is about. */
export const WithheldApproval = named(
  "WithheldApproval",
  z.strictObject({
    id: z.string(),
    tenant: z.string(),
    agent: z.string(),
    state: ApprovalState,
    created_at: Moment,
    expires_at: Moment,
    withheld: z.literal(true),
  }),
);
export type WithheldApproval = z.infer<typeof WithheldApproval>;

/** An approval as somebody is shown it. */
export const ShownApproval = z.union([WithheldApproval, Approval]);
export type ShownApproval = z.infer<typeof ShownApproval>;

/** An approval with the words that show a person exactly what an answer counts for. */
export const DescribedApproval = named("DescribedApproval", Approval.extend({ description: z.string() }));

/** Some approvals, and where the next ones begin. */
export const ApprovalPage = named(
  "ApprovalPage",
  z.looseObject({
    approvals: z.array(ShownApproval),
    next: z.string().optional().describe("to be given as `after`; absent when these are the last"),
  }),
);

/** One step in the life of an approval. */
export const ApprovalChange = named(
  "ApprovalChange",
  z.looseObject({
    seq: z.int().describe("grows with every change; the id of the event"),
    at: Moment,
    entry: Hash.optional().describe("the ledger entry of this step; not told of a withheld approval"),
    approval: ShownApproval,
  }),
);
export type ApprovalChange = z.infer<typeof ApprovalChange>;

/** A person's answer. */
export const GivenAnswer = named(
  "GivenAnswer",
  z.strictObject({
    decision: ApprovalOption,
    note: z.string().max(4_096).optional(),
    prefix: z
      .array(z.string().min(1).max(4_096))
      .min(1)
      .max(32)
      .optional()
      .describe(
        "for allow_always: words that the command begins with; whatever follows them here is allowed",
      ),
    grant_expires_ms: z.number().positive().optional().describe("how long an allow_always lasts"),
  }),
);
