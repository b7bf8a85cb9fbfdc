import { z } from "zod";
import { type Action, type Counters, PLACES } from "../action.ts";
import { RuleVerdict } from "../constitution/constitution.ts";
import type { Said } from "../decision/verdict.ts";
import { ENFORCEMENTS, NETWORKS, ORIGINS, STARTS, type Subject, TRUST_LEVELS } from "../subject.ts";

/** What a rule decided on, and when. */
export interface RecordedStep {
  readonly action: Action;
  readonly counters: Counters;
  readonly at: number;
}

/** What an action was before a rule modified it. */
export interface ModifiedFrom extends RecordedStep {
  readonly rule: string;
  readonly patch: Readonly<Record<string, unknown>>;
}

/** A verdict of the past with everything that it was decided on. */
export interface RecordedVerdict extends RecordedStep {
  readonly event_type: string;
  readonly subject: Subject;
  readonly rules_hash: string;
  /** What the policy itself said to the action, before limits, harnesses and people were asked. */
  readonly said: Said;
  /** Said where the action is what a rule made of another. */
  readonly modified_from: ModifiedFrom | undefined;
  /** What came of it in the end. */
  readonly outcome: RuleVerdict;
}

/**
 * Why a verdict cannot be decided again: no policy was in force, its entry does not hold the facts, or it holds some
 * that this version does not understand.
 */
export type Unreplayable = "no_policy" | "no_facts" | "unreadable";

const path = {
  path: z.string(),
  place: z.enum(PLACES),
  inside: z.string().exactOptional(),
  deep: z.literal(true).exactOptional(),
};

const Effect = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("read"), ...path, passing: z.literal(true).exactOptional() }),
  z.object({
    kind: z.literal("write"),
    ...path,
    destroys: z.boolean(),
    recoverable: z.boolean().exactOptional(),
  }),
  z.object({
    kind: z.literal("exec"),
    command: z.string(),
    arguments: z.array(z.string().nullable()),
    opaque: z.boolean(),
  }),
  z.object({ kind: z.literal("net"), host: z.string(), looks: z.literal(true).exactOptional() }),
]);

const Claims = z.object({
  title: z.string().exactOptional(),
  kind: z.string().exactOptional(),
  risk: z.string().exactOptional(),
});

const Facts = z.object({
  tool: z.string(),
  effects: z.array(Effect),
  opaque: z.boolean(),
  unaccounted: z.literal(true).exactOptional(),
  doubts: z.array(z.string()),
  claims: Claims,
  arguments: z.unknown(),
});

const RecordedSaid = z.object({ verdict: RuleVerdict, rule: z.string().nullable() });
const RecordedCounters = z.record(z.string(), z.number());

const RecordedFrom = z.object({
  rule: z.string(),
  patch: z.record(z.string(), z.unknown()),
  at: z.number(),
  /** Left out where they were too large to be kept twice. */
  facts: Facts.nullable(),
  counters: RecordedCounters,
});

const Payload = RecordedSaid.extend({
  rules_hash: z.string(),
  event_type: z.string(),
  at: z.number(),
  subject: z.unknown(),
  facts: Facts,
  counters: RecordedCounters,
  policy: RecordedSaid.exactOptional(),
  modified_from: RecordedFrom.exactOptional(),
});

/** Reads the payloads of `policy_verdict` entries. */
export class RecordReader {
  readonly #subjects = new RecordedSubjects();

  /** The verdict in a payload, or why it cannot be decided again. */
  read(payload: unknown): RecordedVerdict | Unreplayable {
    const { data } = Payload.safeParse(payload);
    const subject = data && this.#subjects.read(data.subject);
    if (!data || !subject) return reasonOf(payload);
    const { facts, policy, verdict, rule, rules_hash, event_type, at, counters, modified_from: from } = data;
    const said = policy ?? { verdict, rule };
    // To modify something is decided on what it was before.
    if (from ? from.facts === null : said.verdict === "modify") return "no_facts";
    return {
      event_type,
      at,
      subject,
      action: actionIn(facts),
      counters,
      rules_hash,
      said: { verdict: said.verdict, rule: said.rule ?? undefined },
      modified_from: from?.facts ? { ...from, action: actionIn(from.facts) } : undefined,
      outcome: verdict,
    };
  }
}

function actionIn(facts: z.infer<typeof Facts>): Action {
  return { ...facts, arguments: nested(facts.arguments) };
}

/** The record keeps arguments under the dotted paths that rules look at; rules look for them nested. */
function nested(kept: unknown): unknown {
  if (typeof kept !== "object" || kept === null || Array.isArray(kept)) return kept;
  const names = Object.keys(kept);
  if (!names.some((name) => name.includes("."))) return kept;
  // The shortest first, so that a whole object does not hide a member of it that is kept as well.
  const sorted = names.sort((left, right) => left.length - right.length);
  return withMembers({}, Object.fromEntries(sorted.map((name) => [name, Reflect.get(kept, name)])));
}

const WithoutPolicy = z.object({ rules_hash: z.null(), facts: z.unknown() });
const WithFacts = z.object({ facts: z.object({}) });

function reasonOf(payload: unknown): Unreplayable {
  if (WithoutPolicy.safeParse(payload).success) return "no_policy";
  return WithFacts.safeParse(payload).success ? "unreadable" : "no_facts";
}

const RecordedSubject = z.object({
  user: z.string(),
  tenant: z.string(),
  roles: z.array(z.string()),
  scopes: z.array(z.string()),
  agent: z.string(),
  trust: z.enum(TRUST_LEVELS),
  session: z.string(),
  root_session: z.string().exactOptional(),
  started: z.enum(STARTS),
  chain: z.array(z.string()),
  depth: z.int(),
  mode: z.string(),
  enforcement: z.enum(ENFORCEMENTS),
  network: z.enum(NETWORKS).exactOptional(),
  origin: z.enum(ORIGINS).exactOptional(),
  graph: z
    .object({
      run: z.string(),
      executor: z.string(),
      action: z.string(),
      operation: z.string().exactOptional(),
    })
    .exactOptional(),
});

type Recorded = Partial<Record<keyof Subject, unknown>>;

/** How many subjects are remembered; then it begins anew. */
const MAX_SUBJECTS = 10_000;

/** Reads recorded subjects. One that comes again is the same object each time, by which a policy knows it again. */
export class RecordedSubjects {
  readonly #known = new Map<string, Subject>();

  /** The subject in a value, if there is one. */
  read(value: unknown): Subject | undefined {
    if (typeof value !== "object" || value === null) return undefined;
    const recorded: Recorded = value;
    const name = `${recorded.session}\n${recorded.agent}\n${recorded.mode}`;
    const known = this.#known.get(name);
    if (known && isSame(known, recorded)) return known;
    const { data } = RecordedSubject.safeParse(value);
    if (!data) return undefined;
    if (this.#known.size >= MAX_SUBJECTS) this.#known.clear();
    this.#known.set(name, data);
    return data;
  }
}

/** Written out, because it is asked of every verdict. */
function isSame(known: Subject, value: Recorded): boolean {
  return (
    known.user === value.user &&
    known.tenant === value.tenant &&
    known.agent === value.agent &&
    known.trust === value.trust &&
    known.session === value.session &&
    known.root_session === value.root_session &&
    known.started === value.started &&
    known.depth === value.depth &&
    known.mode === value.mode &&
    known.enforcement === value.enforcement &&
    known.network === value.network &&
    known.origin === value.origin &&
    // Each action of a graph has its own.
    known.graph === undefined &&
    value.graph === undefined &&
    isSameList(known.roles, value.roles) &&
    isSameList(known.scopes, value.scopes) &&
    isSameList(known.chain, value.chain)
  );
}

function isSameList(one: readonly string[], other: unknown): boolean {
  return (
    Array.isArray(other) && one.length === other.length && one.every((item, index) => item === other[index])
  );
}

/** A value with some members set, by dotted path. What was given stays as it is. */
export function withMembers(value: unknown, members: Readonly<Record<string, unknown>>): unknown {
  let result = value;
  for (const [path, member] of Object.entries(members)) result = setAt(result, path.split("."), member);
  return result;
}

function setAt(value: unknown, [name, ...rest]: readonly string[], member: unknown): unknown {
  if (name === undefined) return member;
  const object = typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  const inner: unknown = Object.hasOwn(object, name) ? Reflect.get(object, name) : undefined;
  return { ...object, [name]: setAt(inner, rest, member) };
}
