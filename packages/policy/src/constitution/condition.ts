import { z } from "zod";
import { PLACES } from "../action.ts";
import { globFault } from "../glob.ts";
import { ENFORCEMENTS, NETWORKS, ORIGINS, STARTS, TRUST_LEVELS } from "../subject.ts";
import {
  ArgumentText,
  CommandWords,
  EventName,
  HostName,
  Name,
  PathGlobText,
  saying,
  Text,
} from "./plausible.ts";

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const LONGEST = 10_000 * UNITS.d;

/** A length of time such as `30s`, `10m`, `24h`, `7d`. */
export const Duration = z
  .string()
  .regex(/^\d+(ms|s|m|h|d)$/, "a length of time is a number and ms, s, m, h or d")
  .refine((text) => milliseconds(text) > 0, "a length of time is more than nothing")
  .refine((text) => !(milliseconds(text) > LONGEST), "a length of time is at most 10,000 days");

/** A length of time in milliseconds. */
export function milliseconds(duration: string): number {
  const [, count, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(duration) ?? [];
  const factor = Object.entries(UNITS).find(([name]) => name === unit)?.[1] ?? Number.NaN;
  return Number(count) * factor;
}

const oneOrMany = <Item extends z.ZodType>(item: Item) => z.union([item, z.array(item).min(1)]);
const patterns = oneOrMany(Text);
const names = oneOrMany(Name);
const hosts = oneOrMany(HostName);
/** A glob that can be matched. */
export const Glob = PathGlobText.superRefine((glob, context) => {
  const message = globFault(glob);
  if (message !== undefined) context.addIssue({ code: "custom", message });
});
const globs = oneOrMany(Glob);
const EffectKind = z.enum(["read", "write", "exec", "net"]);

/** What a path must be: all that is given must hold. */
export const PathTest = saying(
  z.strictObject({
    place: oneOrMany(z.enum(PLACES)).optional().describe("where the path lies"),
    match: globs.optional().describe("globs; absolute, or relative to the session's roots"),
    except: globs.optional().describe("globs that it must not match"),
    inside: z.boolean().optional().describe("whether it lies in one of the session's roots"),
    destroys: z.boolean().optional().describe("whether what was there is gone afterwards"),
    recoverable: z
      .boolean()
      .optional()
      .describe("of what is gone afterwards: whether git, or a build, can bring it back"),
    passing: z
      .boolean()
      .optional()
      .describe(
        "whether the call does not name the path: it is read because it lies below one that it names",
      ),
  }),
  "say what the path must be: its place, a match, or whether it is inside",
).describe("what a path must be");
export type PathTest = z.infer<typeof PathTest>;

const quantified = <Test extends z.ZodType>(test: Test) =>
  saying(
    z.strictObject({ every: test.optional(), any: test.optional() }),
    "say every, for what all must be, or any, for what one must be",
  );

/** Whose history is looked at. */
export const Whose = z.enum(["session", "user", "agent", "tenant"]);
export type Whose = z.infer<typeof Whose>;

const members = {
  agent_trust: oneOrMany(z.enum(TRUST_LEVELS)).optional().describe("how well the agent is known"),
  tool_name_matches: z.array(Name).min(1).optional().describe("tool names; * stands for any text"),
  event: oneOrMany(EventName).optional().describe("the control event, such as pre_action"),
  agent: names.optional(),
  user: patterns.optional(),
  tenant: patterns.optional(),
  session: patterns.optional(),
  mode: patterns.optional(),
  role: patterns.optional().describe("the user has one of these roles"),
  scopes: z.array(z.string().min(1)).min(1).optional().describe("the subject has all of these scopes"),
  started: oneOrMany(z.enum(STARTS)).optional().describe("how the work was started"),
  depth: saying(
    z.strictObject({ at_least: z.int().optional(), at_most: z.int().optional() }),
    "say at_least or at_most",
  )
    .refine(
      ({ at_least = 0, at_most = Number.POSITIVE_INFINITY }) =>
        at_most >= 0 && at_least >= 0 && at_least <= at_most,
      "no depth is so: it is 0 or more, and at_least is not above at_most",
    )
    .optional(),
  enforcement: oneOrMany(z.enum(ENFORCEMENTS)).optional(),
  network: oneOrMany(z.enum(NETWORKS))
    .optional()
    .describe("what it can reach over the network: nothing, the hosts named for it, or everything"),
  origin: oneOrMany(z.enum(ORIGINS)).optional().describe("who asks"),
  graph: z
    .union([
      z.boolean(),
      saying(
        z.strictObject({
          executor: names.optional().describe("who executes the action: a type and a name, or *"),
          action: patterns.optional().describe("what the model calls the action"),
          operation: patterns.optional().describe("what the model says that the action is to do"),
        }),
        "say true, false, or who executes it, its action or its operation",
      ),
    ])
    .optional()
    .describe("whether it is an action of a graph, or of which kind"),
  sensitivity: patterns.optional().describe("how sensitive the tool is declared to be"),
  lacks_scopes: z
    .boolean()
    .optional()
    .describe("whether the subject lacks a scope the tool declares it needs"),
  opaque: z.boolean().optional().describe("whether the action may do more than can be seen"),
  harmless: z
    .boolean()
    .optional()
    .describe("whether it is known to do no more than look around and change files of the workspace"),
  effects: quantified(z.array(EffectKind).min(1, "name at least one: read, write, exec or net")).optional(),
  paths: quantified(PathTest).optional().describe("what is read or written"),
  reads: quantified(PathTest).optional(),
  writes: quantified(PathTest).optional(),
  commands: quantified(oneOrMany(CommandWords))
    .optional()
    .describe('words of a command, such as "git push *"'),
  hosts: quantified(hosts).optional(),
  arguments: saying(
    z.record(z.string(), oneOrMany(ArgumentText)),
    "name a member of the arguments, by dotted path",
  )
    .refine(
      (given) => Object.keys(given).every((path) => path.split(".").every((name) => name.trim() !== "")),
      "a dotted path names a member between any two dots",
    )
    .optional()
    .describe("members of the arguments, by dotted path"),
  time: z
    .strictObject({
      from: z
        .string()
        .regex(/^\d\d:\d\d$/)
        .refine(isTimeOfDay, "a time of day is between 00:00 and 24:00")
        .optional(),
      until: z
        .string()
        .regex(/^\d\d:\d\d$/)
        .refine(isTimeOfDay, "a time of day is between 00:00 and 24:00")
        .optional(),
      days: z
        .array(z.enum(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]))
        .min(1)
        .optional(),
      zone: z
        .string()
        .refine(isTimeZone, "there is no such time zone; give one such as Europe/Berlin")
        .optional(),
    })
    .refine(
      ({ from, until, days }) => from !== undefined || until !== undefined || days !== undefined,
      "say from, until or days",
    )
    .meta({ anyOf: [{ required: ["from"] }, { required: ["until"] }, { required: ["days"] }] })
    .refine(({ from, until }) => from === undefined || from !== until, "from and until are the same time")
    .optional(),
};

/** A condition that looks at one action only. */
export type PlainCondition = {
  [Name in keyof typeof members]?: z.infer<(typeof members)[Name]>;
} & { any_of?: PlainCondition[] | undefined; not?: PlainCondition | undefined };

export const PlainCondition: z.ZodType<PlainCondition> = z.lazy(() =>
  z.strictObject({
    ...members,
    any_of: z.array(PlainCondition).min(1).optional(),
    not: Negated.optional(),
  }),
);

/** What must not hold; `{}` always does. */
const Negated = saying(PlainCondition, "{} holds always, so that its opposite never does");

/** So many earlier actions of a kind, within a time. */
const CountCondition = z.strictObject({
  of: PlainCondition,
  within: Duration,
  at_least: z.int().min(1),
  by: Whose.default("session"),
});

/** Some earlier action of a kind. */
const AfterCondition = z.strictObject({
  of: PlainCondition,
  within: Duration.optional(),
  by: Whose.default("session"),
});

/** What must hold for a rule to match; everything that is given must. `{}` matches all. */
export const Condition = z.strictObject({
  ...members,
  any_of: z.array(PlainCondition).min(1).optional(),
  not: Negated.optional(),
  count: oneOrMany(CountCondition).optional(),
  after: oneOrMany(AfterCondition).optional(),
});
export type Condition = z.infer<typeof Condition>;

/** A condition with those inside of it, each with its path. */
export function* conditionsIn(
  condition: Condition | PlainCondition,
  path: readonly PropertyKey[],
): Generator<{ readonly condition: PlainCondition; readonly path: readonly PropertyKey[] }> {
  yield { condition, path };
  for (const [index, option] of (condition.any_of ?? []).entries())
    yield* conditionsIn(option, [...path, "any_of", index]);
  if (condition.not) yield* conditionsIn(condition.not, [...path, "not"]);
  const past: Condition = condition;
  for (const name of ["count", "after"] as const) {
    const asked = past[name] ?? [];
    if (!Array.isArray(asked)) yield* conditionsIn(asked.of, [...path, name, "of"]);
    else for (const [index, { of }] of asked.entries()) yield* conditionsIn(of, [...path, name, index, "of"]);
  }
}

function isTimeOfDay(text: string): boolean {
  const [hour = 0, minute = 0] = text.split(":").map(Number);
  return minute < 60 && hour * 60 + minute <= 24 * 60;
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}
