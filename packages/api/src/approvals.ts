import { z } from "zod";
import { operation } from "./operation.ts";
import { Enforcement, Hash, ListOrder, Moment, named, PageAfter, PageLimit, PathName } from "./schema.ts";

const place = z
  .string()
  .describe("where the path lies, seen from the session: workspace, home, credentials …");
const inside = z.string().optional().describe("the path from the session's root");

/** One thing an action does. */
const Effect = named(
  "Effect",
  z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("read"), path: z.string(), place, inside }),
    z.looseObject({ kind: z.literal("write"), path: z.string(), place, inside, destroys: z.boolean() }),
    z.looseObject({
      kind: z.literal("exec"),
      command: z.string(),
      arguments: z.array(z.string().nullable()).describe("null is known only when it runs"),
      opaque: z.boolean(),
    }),
    z.looseObject({ kind: z.literal("net"), host: z.string() }),
  ]),
);

/** The facts about an action that the harness determined itself. */
export const Action = named(
  "Action",
  z.looseObject({
    tool: z.string(),
    effects: z.array(Effect),
    opaque: z.boolean().describe("whether it may do more than its effects say"),
    unaccounted: z
      .literal(true)
      .optional()
      .describe("whether it is opaque for more than what its programs do by themselves"),
    doubts: z.array(z.string()),
    claims: z.looseObject({}).describe("what the agent claims about it"),
    arguments: z.unknown(),
  }),
);

/** The state of an approval. */
const ApprovalState = z.enum(["pending", "approved", "denied", "expired", "withdrawn", "used"]);

/** The answers that a person may give. */
const ApprovalOption = z.enum(["allow_once", "allow_always", "deny"]);

/** The answer of one person. */
const ApprovalAnswer = named(
  "ApprovalAnswer",
  z.looseObject({
    by: z.string(),
    decision: ApprovalOption,
    note: z.string().optional(),
    prefix: z.array(z.string()).optional().describe("the beginning of the command that was allowed always"),
    grant_expires_ms: z
      .number()
      .optional()
      .describe("how long an allow_always lasts at most, where the answer says so"),
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
    session_key: z
      .string()
      .optional()
      .describe("the key under which the session's entries are chained, where it is hosted here"),
    turn: z.string().optional(),
    event_type: z.string(),
    tool: z.string(),
    facts: Action,
    enforcement: Enforcement,
    binding: Hash.describe("identifies the action that an answer applies to"),
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
      .describe("beginnings of the command that the caller can allow always"),
    rule: z.string().optional(),
    reason: z.string(),
    options: z.array(ApprovalOption).describe("the answers that the caller may give while it is pending"),
    quorum: z.int().describe("how many people must agree; from two on, the requesting user does not count"),
    approvers: z
      .array(z.string())
      .optional()
      .describe("the roles that may answer, beside admins; by default its user, and approvers"),
    four_eyes: z.boolean().optional().describe("whether the requesting user may not approve it"),
    asked_by: z
      .string()
      .optional()
      .describe("the user who prompted the turn, where that is another; counts as a requesting user"),
    answers: z.array(ApprovalAnswer),
    state: ApprovalState,
    created_at: Moment,
    expires_at: Moment,
    entry: Hash.describe("the ledger entry that asked"),
    unreadable: z.string().optional().describe("why it cannot be shown exactly; it can only be denied then"),
  }),
);
export type Approval = z.infer<typeof Approval>;

/** An approval of others: that it exists, without its content. */
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

/** An approval as a principal sees it. */
export const ShownApproval = z.union([WithheldApproval, Approval]);
export type ShownApproval = z.infer<typeof ShownApproval>;

/** An approval with a text that shows exactly what an answer applies to. */
const DescribedApproval = named("DescribedApproval", Approval.extend({ description: z.string() }));

/** Some approvals, and where the next ones begin. */
const ApprovalPage = named(
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
    entry: Hash.optional().describe("the ledger entry of this step; absent for a withheld approval"),
    approval: ShownApproval,
  }),
);
export type ApprovalChange = z.infer<typeof ApprovalChange>;

/** A person's answer. */
const GivenAnswer = named(
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
    approvers: z
      .array(z.string())
      .optional()
      .describe("the roles that may revoke it beside its user, where the rule named them"),
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
const GrantPage = named("GrantPage", z.looseObject({ grants: z.array(Grant), next: z.string().optional() }));

const name = z.string().min(1).max(256).optional();

/** Operations on approvals and grants. */
export const approvalOperations = {
  listApprovals: operation({
    id: "list_approvals",
    method: "GET",
    path: "/v1/approvals",
    summary:
      "Lists the approvals of the caller's tenant, by default the oldest first; those of others without their content.",
    audience: "person",
    query: z.strictObject({
      state: ApprovalState.optional(),
      session: name,
      order: ListOrder.optional(),
      limit: PageLimit,
      after: PageAfter,
    }),
    answer: ApprovalPage,
  }),
  streamApprovals: operation({
    id: "stream_approvals",
    method: "GET",
    path: "/v1/approvals/stream",
    summary:
      "Streams every change of an approval of the caller's tenant, from now on or after `Last-Event-ID`.",
    audience: "person",
    answer: ApprovalChange,
    events: "approval",
    problems: ["not_acceptable"],
  }),
  getApproval: operation({
    id: "get_approval",
    method: "GET",
    path: "/v1/approvals/{id}",
    summary: "Returns one approval, with a text that shows what an answer applies to.",
    audience: "person",
    params: z.strictObject({ id: PathName }),
    answer: z.union([WithheldApproval, DescribedApproval]),
    problems: ["not_found"],
  }),
  answerApproval: operation({
    id: "answer_approval",
    method: "POST",
    path: "/v1/approvals/{id}/answer",
    summary:
      "Answers an approval, once, as its user or with a role that may. A late or second answer is a conflict.",
    audience: "person",
    params: z.strictObject({ id: PathName }),
    body: GivenAnswer,
    answer: Approval,
    problems: ["not_found", "forbidden", "conflict"],
  }),
  listGrants: operation({
    id: "list_grants",
    method: "GET",
    path: "/v1/grants",
    summary:
      "Lists the grants of the caller, for approvers those of the tenant; also revoked ones, the oldest first.",
    audience: "person",
    query: z.strictObject({ user: name, agent: name, limit: PageLimit, after: PageAfter }),
    answer: GrantPage,
  }),
  revokeGrant: operation({
    id: "revoke_grant",
    method: "DELETE",
    path: "/v1/grants/{id}",
    summary: "Revokes a grant, from the next decision on.",
    audience: "person",
    params: z.strictObject({ id: PathName }),
    answer: Grant,
    problems: ["not_found", "conflict"],
  }),
} as const;
