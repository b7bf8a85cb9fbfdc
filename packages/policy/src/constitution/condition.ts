import { z } from "zod";
import { CONTROL_EVENTS, PLACES } from "../action.ts";
import { textTest } from "../conditions/pattern.ts";
import { globFault } from "../glob.ts";
import { ENFORCEMENTS, NETWORKS, ORIGINS, STARTS, TRUST_LEVELS } from "../subject.ts";

/** Invisible characters, and those that change the direction of text. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;
const LATIN = /\p{Script=Latin}/u;
const ALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Cherokee}\p{Script=Armenian}]/u;

/** Why a text would never be what its reader takes it for. */
function textFault(text: string): string | undefined {
  if (text.trim() === "") return "it is empty: nothing is called so";
  if (text !== text.trim()) return "it begins or ends with a blank: nothing is called so";
  if (HIDDEN.test(text)) return "it holds a character that cannot be seen: type it anew";
  const mixed = text.split(/[^\p{L}\p{M}\p{N}]+/u).find((word) => LATIN.test(word) && ALIKE.test(word));
  if (mixed !== undefined) return `"${mixed}" mixes letters of two scripts that look alike: type it anew`;
  return undefined;
}

/** Names are compared as they are, but for `*`. */
function nameFault(name: string): string | undefined {
  if (/^\/.*\/[a-z]*$|^\^|\$$|[|()\\]|\.\*/.test(name))
    return "names are no regular expressions: * stands for any text, and a list for one of several";
  return textFault(name);
}

function commandFault(command: string): string | undefined {
  if (/&&|\|\||[;|<>`]|\$\(/.test(command))
    return "a command is the words of one program: the parts of a command line are looked at one by one";
  return textFault(command);
}

/** Hosts are compared with bare names; an address never is one. */
function hostFault(host: string): string | undefined {
  if (/[/@]|^[^:]*:\d+$|\s/.test(host)) return "a host is a bare name, without scheme, port and path";
  if (host.startsWith(".")) return `write *${host} for every host below it`;
  if (/[^\p{ASCII}]/u.test(host)) return "a host is written in ASCII, as xn--…";
  return textFault(host);
}

/** Why a glob can match no path, or other ones than it seems to. */
function pathGlobFault(glob: string): string | undefined {
  const bare = glob.replace(/^!+/, "");
  if (/^~|\$\{?[A-Za-z_]|^%[A-Z]+%/.test(bare))
    return "~ and variables mean nothing in a glob: begin with /, or with a folder of the session";
  if (/^\^|\$$/.test(bare))
    return "this is a glob and no regular expression: * stands for a part of a name, ** for any folders";
  if (/(?:^|\/)\.\.(?:\/|$)/.test(bare)) return ".. leads nowhere in a glob: write where it leads";
  if (bare.replace(/\\.|\[[^\]]+\]/g, "").includes("[")) return "a [ in it is never closed";
  return textFault(glob);
}

/** Events are a closed list: a name that is none of them would never match. */
function eventFault(event: string): string | undefined {
  if (CONTROL_EVENTS.some(textTest(event))) return undefined;
  return `no control event is called so; there are ${CONTROL_EVENTS.join(", ")}`;
}

/** Signs that only a regular expression has. Text with parentheses, pipes or backslashes may be an argument. */
const REGULAR =
  /^\^|(?:^|[^\\])\$$|^\/.*\/[dgimsuvy]+$|^\/.*[\^$*+?|\\].*\/$|\\[bBdDsSwW](?![A-Za-z])|\(\?[:=!<]|^\.\*.*\.\*$|\.\+|\][*+{]/s;

/** Arguments are compared as text, but for `*` and `?`. */
function argumentFault(text: string): string | undefined {
  if (!REGULAR.test(text)) return undefined;
  return "arguments are compared with text and no regular expressions: * stands for any text";
}

const checked = (fault: (text: string) => string | undefined) =>
  z
    .string()
    .min(1)
    .superRefine((text, context) => {
      const message = fault(text);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    });

/** The name of a user, a role and the like; `*` stands for any text. */
export const Text = checked(textFault);
/** The name of a tool or an agent; `*` stands for any text. */
export const Name = checked(nameFault);
/** The name of a control event; `*` stands for any text. */
export const EventName = checked(eventFault).meta({
  anyOf: [{ enum: [...CONTROL_EVENTS] }, { pattern: "[*?]" }],
});
/** The text of an argument; `*` stands for any text. */
const ArgumentText = checked(argumentFault);
/** Words of a command. */
const CommandWords = checked(commandFault);
const HostName = checked(hostFault);
/** A glob of paths, as far as it is written; whether it can be compiled is looked at elsewhere. */
const PathGlobText = checked(pathGlobFault);

/** Whether an object says anything at all. */
export function saysSomething(value: object): boolean {
  return Object.values(value).some((member) => member !== undefined);
}

/** An object that has to say something, since one that says nothing would hold of everything. */
export function saying<Kind extends z.ZodType<object>>(kind: Kind, message: string): Kind {
  return kind.refine(saysSomething, message).meta({ minProperties: 1 });
}

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
