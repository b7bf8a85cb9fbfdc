import { z } from "zod";
import { Action } from "./approvals.ts";
import { operation } from "./operation.ts";
import {
  Enforcement,
  EntryId,
  Hash,
  Moment,
  Name,
  named,
  OperatorTenant,
  RequestMoment,
  Start,
  Trust,
  Verdict,
} from "./schema.ts";

const text = z.string().max(512 * 1024);

/** A constitution to study: the draft of the request, else the one in force. */
const draft = {
  tenant: OperatorTenant,
  rules: text.optional().describe("constitution.yaml as it would be; by default the rules in force"),
  prose: text.optional().describe("constitution.md as it would be; by default the prose in force"),
};
const range = {
  since: RequestMoment.optional().describe("only verdicts not before, RFC 3339"),
  limit: z.int().min(1).max(100_000).optional().describe("at most so many, the newest; 20,000 by default"),
};

/** A draft of a constitution. */
const PolicyDraft = named("PolicyDraft", z.strictObject(draft));

/** What is wrong with a constitution, and where. */
const PolicyFault = named(
  "PolicyFault",
  z.looseObject({
    message: z.string(),
    line: z.int().nullable().describe("from 1"),
    column: z.int().nullable(),
  }),
);

/** An example in a constitution, and the verdict it got. */
export const PolicyTestOutcome = named(
  "PolicyTestOutcome",
  z.looseObject({
    name: z.string(),
    passed: z.boolean(),
    expected: z.looseObject({ verdict: Verdict, rule: z.string().nullable() }),
    got: z.looseObject({ verdict: Verdict, rule: z.string().nullable() }),
    fault: z.string().nullable(),
  }),
);

/** The result of checking a constitution. */
export const PolicyCheck = named(
  "PolicyCheck",
  z.looseObject({
    fine: z.boolean().describe("whether it would be taken"),
    constitution_hash: Hash.nullable(),
    rules_hash: Hash.nullable(),
    rules: z.int(),
    limits: z.int(),
    faults: z.array(PolicyFault).describe("why it would be refused"),
    remarks: z.array(PolicyFault).describe("what it would be taken with, and is most likely a mistake"),
    tests: z.array(PolicyTestOutcome),
    no_looser: z
      .boolean()
      .nullable()
      .describe("whether it provably allows nothing more than the one in force, so that it applies at once"),
  }),
);

/** The outcome of a constitution's own tests. */
const PolicyTestReport = named(
  "PolicyTestReport",
  z.looseObject({ passed: z.int(), failed: z.int(), tests: z.array(PolicyTestOutcome) }),
);

const clause = z.looseObject({ clause: z.string(), asked: z.unknown() });

/** The subject of a hypothetical action; what is left out is taken from the caller. */
const GivenSubject = z.strictObject({
  user: Name.optional(),
  roles: z.array(Name).max(64).optional(),
  scopes: z.array(Name).max(200).optional(),
  agent: Name.optional().describe("by default native"),
  trust: Trust.optional().describe("by default what the roster says"),
  session: Name.optional(),
  started: Start.optional(),
  chain: z.array(Name).max(32).optional(),
  depth: z.int().min(0).max(32).optional(),
  mode: Name.optional(),
  enforcement: Enforcement.optional().describe("by default asked"),
});

/** What is to be explained: a verdict that was given, or an action that might come. */
export const ExplainRequest = named(
  "ExplainRequest",
  z
    .strictObject({
      ...draft,
      entry: EntryId.optional().describe("the content id of a policy_verdict entry"),
      event: z
        .strictObject({
          event_type: Name.optional().describe("by default pre_action"),
          tool: Name.optional(),
          arguments: z.unknown().optional(),
          payload: z.looseObject({}).optional().describe("in place of tool and arguments, as AHP has it"),
        })
        .optional(),
      subject: GivenSubject.optional(),
      cwd: Name.optional().describe("by default the home of Reins's user"),
      roots: z.array(Name).max(64).optional().describe("the folders of the session; by default cwd"),
      tools: Name.optional().describe("whose table of tools applies; by default the agent's"),
    })
    .refine(
      ({ entry, event }) => (entry === undefined) !== (event === undefined),
      "name one of entry and event",
    ),
);

/** The evaluation of one rule. */
export const ExplainedRule = named(
  "ExplainedRule",
  z.looseObject({
    rule: z.string(),
    verdict: Verdict,
    matched: z.boolean(),
    held: z.array(clause).describe("the parts of its condition that held"),
    failed: z.array(clause).describe("and those that did not"),
  }),
);

/** A budget that counts, and how much of it is used. */
export const ExplainedLimit = named(
  "ExplainedLimit",
  z.looseObject({
    name: z.string(),
    per: z.enum(["user", "agent", "session", "tenant"]).describe("whose use is counted"),
    within: z.string().optional().describe("how long a use counts; for ever without it"),
    calls: z.int().optional().describe("the most that is allowed; likewise the other three"),
    tokens: z.int().optional(),
    cost: z.number().optional(),
    time: z.string().optional(),
    exceeded: z.enum(["blocked", "ask", "defer"]).describe("what is decided beyond it"),
    used: z
      .looseObject({ calls: z.int(), tokens: z.number(), cost: z.number(), time_ms: z.number() })
      .nullable()
      .describe("as of now; null under rules that are not in force"),
  }),
);

/** Why a verdict is what it is. */
export const PolicyExplanation = named(
  "PolicyExplanation",
  z.looseObject({
    entry: Hash.nullable().describe("the verdict's own entry, for one that was given"),
    event_type: z.string(),
    at: Moment,
    subject: z.looseObject({}).describe("on whose behalf and through whom"),
    facts: Action.describe("what the action does, as far as the harness found out"),
    policy: z.looseObject({
      constitution_hash: Hash,
      rules_hash: Hash,
      current: z.boolean().describe("whether these are the rules in force now"),
    }),
    rules: z.array(ExplainedRule).describe("every rule up to the one that matched, in order"),
    said: z
      .looseObject({ verdict: Verdict, rule: z.string().nullable(), reason: z.string() })
      .describe("what the rules say"),
    recorded: z
      .looseObject({
        verdict: Verdict,
        rule: z.string().nullable(),
        reason: z.string(),
        enforcement: Enforcement,
        approval: z.string().nullable(),
        grant: z.string().nullable(),
      })
      .nullable()
      .describe(
        "what was decided in the end, after limits, other harnesses and people; null for what might come",
      ),
    counters: z.record(z.string(), z.number()).describe("what came before, as far as the rules ask"),
    limits: z.array(ExplainedLimit).describe("the budgets it counts against"),
    harnesses: z.array(z.string()).describe("other harnesses that are asked too"),
    note: z.string().nullable().describe("what could not be explained, and why"),
  }),
);
export type PolicyExplanation = z.infer<typeof PolicyExplanation>;

const example = z.looseObject({ entry: Hash, what: z.string() });
const said = z.looseObject({ verdict: Verdict, rule: z.string().nullable() });

const Unreplayable = z
  .looseObject({ no_policy: z.int(), no_facts: z.int(), unreadable: z.int() })
  .describe(
    "how many verdicts could not be decided again, for want of the rules or of the facts, or because of their form",
  );

/** What a draft would have changed. */
export const BacktestReport = named(
  "BacktestReport",
  z.looseObject({
    total: z.int().describe("how many verdicts were decided again"),
    unchanged: z.int(),
    other_rule: z.int().describe("the same verdict by another rule"),
    looser: z.int(),
    stricter: z.int(),
    same_rules: z.int().describe("decided before by the very rules of the draft"),
    contradicted: z.int().describe("how many of these came out otherwise, which must be none"),
    blind: z.int().describe("decided without arguments that the draft asks for and the record does not hold"),
    unfollowed: z.int().describe("modified to something that is not on record"),
    not_replayable: Unreplayable,
    before: z.record(z.string(), z.int()).describe("how many of each verdict"),
    after: z.record(z.string(), z.int()),
    changes: z.array(
      z.looseObject({
        direction: z.enum(["looser", "stricter", "same"]),
        from: said,
        to: said,
        event_type: z.string(),
        tool: z.string(),
        agent: z.string(),
        count: z.int(),
        examples: z.array(example),
      }),
    ),
    changes_left_out: z.int(),
    first_at: Moment.nullable(),
    last_at: Moment.nullable(),
  }),
);

/** How the rules of a constitution cover past actions. */
export const CoverageReport = named(
  "CoverageReport",
  z.looseObject({
    total: z.int().describe("how many actions were evaluated"),
    named: z.int().describe("decided by a rule with a condition"),
    taken_by_all: z.int().describe("decided by a rule that matches everything"),
    unmatched: z.int().describe("blocked, because no rule matched"),
    unnamed: z
      .array(
        z.looseObject({
          verdict: Verdict,
          rule: z.string().nullable(),
          event_type: z.string(),
          tool: z.string(),
          agent: z.string(),
          count: z.int(),
          examples: z.array(example),
        }),
      )
      .describe("actions that no rule names"),
    unnamed_left_out: z.int(),
    rules: z.array(z.looseObject({ rule: z.string(), matches: z.int(), takes_all: z.boolean() })),
    never_matched: z.array(z.string()).describe("rules that decided nothing, though they could"),
    unreachable: z
      .array(z.looseObject({ rule: z.string(), because: z.string() }))
      .describe("rules behind one that matches everything they could"),
    not_replayable: Unreplayable,
  }),
);

const problems = ["not_found", "conflict", "too_many_requests"] as const;

/** Operations that check, test, explain and replay a constitution. */
export const studyOperations = {
  validatePolicy: operation({
    id: "validate_policy",
    method: "POST",
    path: "/v1/policy/validate",
    summary: "Reads, compiles and tests a draft; changes nothing.",
    audience: "admin",
    body: PolicyDraft,
    answer: PolicyCheck,
    problems: ["not_found", "too_many_requests"],
  }),
  testPolicy: operation({
    id: "test_policy",
    method: "POST",
    path: "/v1/policy/test",
    summary: "Runs the examples in a constitution.",
    audience: "admin",
    body: PolicyDraft,
    answer: PolicyTestReport,
    problems,
  }),
  explainPolicy: operation({
    id: "explain_policy",
    method: "POST",
    path: "/v1/policy/explain",
    summary:
      "Explains a past verdict or a hypothetical action: the rules considered, the one that matched, identity and budgets. A hypothetical action requires an admin; a verdict is also explained to its user.",
    audience: "person",
    body: ExplainRequest,
    answer: PolicyExplanation,
    problems,
  }),
  backtestPolicy: operation({
    id: "backtest_policy",
    method: "POST",
    path: "/v1/policy/backtest",
    summary: "Decides past verdicts again with a draft.",
    audience: "admin",
    body: z.strictObject({
      ...draft,
      ...range,
      examples: z.int().min(0).max(20).optional().describe("how many of each change; 3 by default"),
    }),
    answer: BacktestReport,
    problems,
  }),
  coverPolicy: operation({
    id: "cover_policy",
    method: "POST",
    path: "/v1/policy/coverage",
    summary: "Reports how often each rule decided, and which past actions no rule names.",
    audience: "admin",
    body: z.strictObject({ ...draft, ...range }),
    answer: CoverageReport,
    problems,
  }),
} as const;
