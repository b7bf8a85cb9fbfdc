import { z } from "zod";
import { PLACES } from "../action.ts";
import { textTest } from "../conditions/pattern.ts";
import { ENFORCEMENTS, NETWORKS, ORIGINS, STARTS, TRUST_LEVELS } from "../subject.ts";
import {
  Condition,
  conditionsIn,
  Duration,
  EventName,
  Glob,
  Name,
  PlainCondition,
  saying,
  saysSomething,
  Text,
  Whose,
} from "./condition.ts";

/** What a rule decides. */
export const RuleVerdict = z.enum(["allowed", "blocked", "ask", "defer", "modify"]);
export type RuleVerdict = z.infer<typeof RuleVerdict>;

/** Members that mean something with one verdict only. */
const GOES_WITH = { quorum: "ask", expires: "ask", retry_after: "defer" } as const;

/** One rule: if the condition holds, the verdict is this one. */
export const Rule = z
  .strictObject({
    name: z.string().min(1),
    condition: Condition.default({}),
    verdict: RuleVerdict,
    reason: z.string().default(""),
    patch: saying(z.record(z.string(), z.unknown()), "a patch names members of the arguments to set")
      .optional()
      .describe("for modify: members of the arguments to set, by dotted path"),
    retry_after: Duration.optional().describe("for defer: when to ask again"),
    quorum: z
      .int()
      .min(1)
      .optional()
      .describe("for ask: how many people must agree; from two on, the user who asks is none of them"),
    approvers: z
      .array(Text)
      .min(1)
      .optional()
      .describe(
        "for ask: the roles that may answer, beside admins; by default the user who asks, and approvers",
      ),
    four_eyes: z.boolean().optional().describe("for ask: the user who asks cannot agree to it"),
    expires: Duration.optional().describe("for ask: how long the question is open"),
  })
  .refine(({ verdict, patch }) => (verdict === "modify") === (patch !== undefined), {
    message: "a rule has a patch if, and only if, its verdict is modify",
  })
  .refine(
    ({ verdict, approvers, four_eyes }) =>
      verdict === "ask" || (approvers === undefined && four_eyes === undefined),
    { message: "approvers and four_eyes are for a rule whose verdict is ask" },
  )
  .superRefine((rule, context) => {
    const paths = Object.keys(rule.patch ?? { a: 1 });
    const odd = paths.find((path) =>
      path.split(".").some((name) => /^(?:|__proto__|constructor|prototype)$/.test(name)),
    );
    if (paths.length === 0 || odd !== undefined) {
      const message = "a patch names members of the arguments to set, by dotted path";
      context.addIssue({ code: "custom", path: ["patch"], message });
    }
    for (const [member, verdict] of Object.entries(GOES_WITH)) {
      if (Reflect.get(rule, member) === undefined || rule.verdict === verdict) continue;
      const message = `${member} goes with the verdict ${verdict}; this rule says ${rule.verdict}`;
      context.addIssue({ code: "custom", path: [member], message });
    }
  });
export type Rule = z.infer<typeof Rule>;

/** What a tool needs and how much harm it can do. */
const ToolDeclaration = z.strictObject({
  scopes: z.array(z.string().min(1)).default([]),
  sensitivity: z.string().min(1).optional(),
});

/** How much a subject may use, together with all agents it delegates to. */
export const Limit = z
  .strictObject({
    name: z.string().min(1),
    per: Whose,
    within: Duration.optional(),
    condition: PlainCondition.default({}).describe("which actions count"),
    calls: z.int().min(0).optional(),
    tokens: z.int().min(0).optional(),
    cost: z.number().min(0).optional(),
    time: Duration.optional(),
    exceeded: z.enum(["blocked", "ask", "defer"]).default("blocked"),
  })
  .refine(
    ({ calls, tokens, cost, time }) => saysSomething({ calls, tokens, cost, time }),
    "a limit says how much: calls, tokens, cost or time",
  )
  .meta({ anyOf: ["calls", "tokens", "cost", "time"].map((name) => ({ required: [name] })) });
export type Limit = z.infer<typeof Limit>;

/** Harn's lists, as a shorthand for rules. What they do not name falls to the rules after them. */
const ToolApprovalPolicy = z.strictObject({
  auto_deny: z.array(Name).default([]),
  write_path_allowlist: z.array(Glob).default([]),
  auto_approve: z.array(Name).default([]),
  require_approval: z.array(Name).default([]),
});
type ToolApprovalPolicy = z.infer<typeof ToolApprovalPolicy>;

function checkAddress(url: string, context: z.RefinementCtx): void {
  const parsed = URL.parse(url);
  const isKnown = /^unix:\/./.test(url) || /^(?:http|ws)s?:$/.test(parsed?.protocol ?? "");
  if (!isKnown)
    context.addIssue({ code: "custom", message: "a harness is asked at http:, https:, ws:, wss: or unix:" });
  else if (parsed?.username || parsed?.password)
    context.addIssue({
      code: "custom",
      message: "put the credential into a file, and name it as token_file",
    });
}

/** An external harness that is asked too. */
export const ExternalHarness = z.strictObject({
  name: z.string().min(1),
  url: z
    .string()
    .min(1)
    .superRefine(checkAddress)
    .describe("http:, https:, ws:, wss:, or unix: and the path of a socket"),
  token_file: z
    .string()
    .min(1)
    .optional()
    .describe(
      "a file with the address and the bearer token to show there: https://harness.example.com TOKEN",
    ),
  api_key_file: z
    .string()
    .min(1)
    .optional()
    .describe("a file with the address and the API key to show there"),
  timeout: Duration.default("5s"),
  fail: z.enum(["closed", "open"]).default("closed"),
});
export type ExternalHarness = z.infer<typeof ExternalHarness>;

const path = {
  path: z.string().min(1).optional(),
  place: z.enum(PLACES).optional(),
  inside: z.string().optional(),
  deep: z.boolean().optional(),
};

/** An effect of an example; a member that its kind does not have is a mistake. */
const GivenEffect = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("read"), ...path, passing: z.boolean().optional() }),
  z.strictObject({
    kind: z.literal("write"),
    ...path,
    destroys: z.boolean().optional(),
    recoverable: z.boolean().optional(),
  }),
  z.strictObject({
    kind: z.literal("exec"),
    command: z.string().min(1).optional(),
    arguments: z.array(z.union([z.string(), z.number(), z.null()])).optional(),
    opaque: z.boolean().optional(),
  }),
  z.strictObject({
    kind: z.literal("net"),
    host: z.string().min(1).optional(),
    looks: z.boolean().optional(),
  }),
]);

/** An example with the verdict it must get; the file is refused when one does not. */
export const PolicyTest = z.strictObject({
  name: z.string().min(1),
  given: z
    .strictObject({
      tool: z.string(),
      event: EventName.default("pre_action"),
      trust: z.enum(TRUST_LEVELS).default("registered"),
      agent: z.string().default("agent"),
      user: z.string().default("user"),
      tenant: z.string().default("default"),
      roles: z.array(z.string()).default([]),
      scopes: z.array(z.string()).default([]),
      started: z.enum(STARTS).default("interactive"),
      enforcement: z.enum(ENFORCEMENTS).default("asked"),
      network: z.enum(NETWORKS).default("open"),
      origin: z.enum(ORIGINS).default("agent"),
      graph: z
        .strictObject({
          executor: z.string().min(1).default("tool:tool").describe("who executes it: a type and a name"),
          action: z.string().min(1).default("action").describe("what the model calls it"),
          operation: z.string().min(1).optional().describe("what the model says that it is to do"),
        })
        .optional()
        .describe("the action of a graph that asks"),
      mode: z.string().default("default"),
      depth: z.int().default(0),
      opaque: z.boolean().default(false),
      effects: z.array(GivenEffect).default([]),
      command: z
        .string()
        .min(1)
        .optional()
        .describe(
          "in place of effects: a command, of which Reins finds out what it does as it does of an agent's",
        ),
      files: z
        .array(z.string().min(1))
        .default([])
        .describe("for command: files that are there, from the workspace's folder, none of them kept by git"),
      arguments: z.unknown().optional(),
      at: z.string().optional().describe("the time, RFC 3339"),
    })
    .refine(({ command, effects, opaque }) => command === undefined || (effects.length === 0 && !opaque), {
      message: "what a command does is found out: give a command, or effects and opaque, not both",
      path: ["command"],
    }),
  expect: RuleVerdict,
  rule: z.string().optional().describe("the rule that must match"),
});
export type PolicyTest = z.infer<typeof PolicyTest>;

/** Rules are compared with one another, so that their number counts twice. */
const MOST_RULES = 2_000;

/** The whole file. HAAK's members mean what they mean there. */
export const ConstitutionFile = z
  .strictObject({
    tool_rules: z.array(Rule),
    default_mandate: z.string().default(""),
    tool_approval_policy: ToolApprovalPolicy.optional(),
    tools: z.record(z.string(), ToolDeclaration).default({}),
    limits: z.array(Limit).default([]),
    harnesses: z.array(ExternalHarness).default([]),
    tests: z.array(PolicyTest).default([]),
  })
  .superRefine((file, context) => {
    if (file.tool_rules.length > MOST_RULES)
      context.addIssue({
        code: "custom",
        path: ["tool_rules"],
        message: `a constitution has at most ${MOST_RULES} rules: put names that are treated alike into one list`,
      });
    for (const [index, { name }] of file.harnesses.entries())
      if (file.harnesses.findIndex((other) => other.name === name) < index)
        context.addIssue({
          code: "custom",
          path: ["harnesses", index, "name"],
          message: `two harnesses are called "${name}": a verdict could not name which of them decided`,
        });
    for (const name of Object.keys(file.tools))
      if (/[*?]/.test(name))
        context.addIssue({
          code: "custom",
          path: ["tools", name],
          message: "a tool is declared by its full name; * stands for nothing here",
        });
    const declared = ["", ...Object.values(file.tools).flatMap(({ sensitivity }) => sensitivity ?? [])];
    const conditions = [
      ...file.tool_rules.map(({ condition }, index) =>
        conditionsIn(condition, ["tool_rules", index, "condition"]),
      ),
      ...file.limits.map(({ condition }, index) => conditionsIn(condition, ["limits", index, "condition"])),
    ];
    for (const { condition, path } of conditions.flatMap((each) => [...each]))
      for (const name of [condition.sensitivity ?? []].flat())
        if (!declared.some(textTest(name)))
          context.addIssue({
            code: "custom",
            path: [...path, "sensitivity"],
            message: `no tool is declared under tools with the sensitivity "${name}"`,
          });
  });
export type ConstitutionFile = z.infer<typeof ConstitutionFile>;

/** What the constitution says of each tool. */
export type ToolDeclarations = ConstitutionFile["tools"];

/** The rules of a file: those its lists stand for, then its own. */
export function rulesOf(file: ConstitutionFile): readonly Rule[] {
  return file.tool_approval_policy
    ? [...listRules(file.tool_approval_policy), ...file.tool_rules]
    : file.tool_rules;
}

/** Harn's lists in Harn's order. Tools that they do not name fall to the rules after them, never to allow. */
function listRules({
  auto_deny,
  write_path_allowlist,
  auto_approve,
  require_approval,
}: ToolApprovalPolicy): Rule[] {
  const rules: Rule[] = [];
  const add = (name: string, condition: Rule["condition"], verdict: Rule["verdict"], reason: string) =>
    rules.push({ name: `tool_approval_policy.${name}`, condition, verdict, reason });
  if (auto_deny.length > 0) {
    add("auto_deny", { tool_name_matches: auto_deny }, "blocked", "the tool matches a deny pattern");
  }
  if (write_path_allowlist.length > 0) {
    const allowed = { writes: { every: { match: write_path_allowlist } } };
    add(
      "write_path_allowlist",
      { not: allowed },
      "blocked",
      "the tool writes outside of the write-path allowlist",
    );
  }
  if (auto_approve.length > 0) {
    add(
      "auto_approve",
      { tool_name_matches: auto_approve },
      "allowed",
      "the tool matches an approve pattern",
    );
  }
  if (require_approval.length > 0) {
    add("require_approval", { tool_name_matches: require_approval }, "ask", "the tool requires approval");
  }
  return rules;
}
