import { describe, expect, it } from "vitest";
import { z } from "zod";
import { everyOperation } from "../generate/api-reference.ts";
import { Nothing, type Operation } from "./operation.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;
type Path = readonly (string | number)[];
/** A value that a schema has to refuse, at a place of an otherwise valid one. */
type Refusal = readonly [path: Path, why: string, value: unknown];

/** Marks a member to be left out. */
const ABSENT = Symbol("absent");

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null;
}

/** The type of a value that is not null. */
function typeIn({ type }: JsonSchema): string | undefined {
  return [type].flat().find((each) => each !== "null") ?? [type].flat()[0];
}

/** A value that a schema accepts, with all of its members. */
function sample(schema: JsonSchema): unknown {
  const type = typeIn(schema);
  const { anyOf, oneOf, properties = {}, items } = schema;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [first] = anyOf ?? oneOf ?? [];
  if (isSchema(first)) return sample(first);
  if (type === "object")
    return Object.fromEntries(
      Object.entries(properties).flatMap(([name, member]) =>
        isSchema(member) && member.not === undefined ? [[name, sample(member)]] : [],
      ),
    );
  if (type === "array") return isSchema(items) ? [sample(items)] : [];
  if (type === "string") return sampleText(schema);
  if (type === "number" || type === "integer") return schema.minimum ?? 1;
  if (type === "boolean") return true;
  return type === "null" ? null : "anything";
}

function sampleText({ format, pattern, minLength = 1 }: JsonSchema): string {
  if (format === "date-time") return "2026-11-15T05:20:00Z";
  return pattern === "^[0-9a-f]{64}$" ? "a".repeat(64) : "x".repeat(minLength);
}

/** Everything that a schema says it refuses. */
function* refusals(schema: JsonSchema, path: Path = []): Generator<Refusal> {
  const type = typeIn(schema);
  if ([schema.type].flat().filter((each) => each !== "null").length > 1) return;
  const { properties = {}, required = [], items } = schema;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) {
    const [only, ...others] = choices.filter((choice) => isSchema(choice) && choice.type !== "null");
    if (isSchema(only) && others.length === 0) yield* refusals(only, path);
    return;
  }
  if (schema.enum ?? schema.const) yield [path, "another value", "something else"];
  else if (type === "string") yield [path, "no text", 7];
  else if (type === "number" || type === "integer") yield [path, "no number", "x"];
  else if (type === "boolean") yield [path, "no boolean", "yes"];
  else if (type === "object" || type === "array") yield [path, "another type", 7];
  if (type === "integer") yield [path, "a fraction", 1.5];
  if (schema.minLength) yield [path, "too short", ""];
  if (schema.maxLength !== undefined) yield [path, "too long", "a".repeat(schema.maxLength + 1)];
  if (schema.pattern !== undefined) yield [path, "another form", "~"];
  if (schema.minimum !== undefined) yield [path, "too small", schema.minimum - 1];
  if (schema.exclusiveMinimum !== undefined) yield [path, "too small", schema.exclusiveMinimum];
  if (schema.maximum !== undefined) yield [path, "too large", schema.maximum + 1];
  if (schema.minItems) yield [path, "too few", []];
  if (schema.maxItems !== undefined && isSchema(items))
    yield [path, "too many", Array.from({ length: schema.maxItems + 1 }, () => sample(items))];
  if (type === "object" && schema.additionalProperties === false)
    yield [[...path, "of_no_schema"], "an unknown member", 1];
  for (const name of required) yield [[...path, name], "a member is missing", ABSENT];
  for (const [name, member] of Object.entries(properties))
    if (isSchema(member) && member.not === undefined) yield* refusals(member, [...path, name]);
  if (type === "array" && isSchema(items)) yield* refusals(items, [...path, 0]);
}

/** A copy of a value with another one at a path. */
function withValue(value: unknown, [name, ...rest]: Path, at: unknown): unknown {
  if (name === undefined) return at;
  if (Array.isArray(value))
    return value.map((each, index) => (index === name ? withValue(each, rest, at) : each));
  const members = new Map(Object.entries(Object(value)));
  const key = String(name);
  if (at === ABSENT && rest.length === 0) members.delete(key);
  else members.set(key, withValue(members.get(key), rest, at));
  return Object.fromEntries(members);
}

const PARTS = ["params", "query", "body", "answer"] as const;

function partsOf(operation: Operation) {
  return PARTS.flatMap((part) => {
    const schema = operation[part];
    const target = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
    return schema === Nothing || !(target instanceof z.ZodType) ? [] : [[part, target] as const];
  });
}

const cases = everyOperation.flatMap((operation) =>
  partsOf(operation).map(([part, schema]) => [operation.id, part, schema] as const),
);

/** Bodies of which one member excludes others. */
const EXCLUSIVE: Readonly<Record<string, readonly string[]>> = {
  kill: ["agent", "process", "all"],
  explain_policy: ["event"],
};

function validSample(id: string, part: string, written: JsonSchema): unknown {
  const whole = sample(written);
  const left = part === "body" ? (EXCLUSIVE[id] ?? []) : [];
  return left.reduce<unknown>((value, name) => withValue(value, [name], ABSENT), whole);
}

describe("every schema of an operation", () => {
  it.each(cases)("%s accepts a valid %s and refuses what it says", (id, part, schema) => {
    const written = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    const valid = validSample(id, part, written);
    expect(schema.safeParse(valid).error?.message).toBeUndefined();
    const accepted = [...refusals(written)].filter(
      ([path, , value]) => schema.safeParse(withValue(valid, path, value)).success,
    );
    expect(accepted.map(([path, why]) => `${path.join(".")}: ${why}`)).toEqual([]);
  });
});

const operation = new Map(everyOperation.map((each) => [each.id, each]));
const LONG = "a".repeat(2_000);

/** What the schemas have to hold to whatever is changed in them: an operation, a part of it, and what is in there. */
describe("a request", () => {
  it.each<[id: string, part: "params" | "query" | "body", value: unknown]>([
    ["list_approvals", "query", {}],
    ["list_approvals", "query", { state: "pending", order: "newest", limit: "500" }],
    ["answer_approval", "body", { decision: "allow_always", prefix: ["npm", "test"], grant_expires_ms: 1 }],
    ["kill", "body", { all: true, reason: "it phones home" }],
    ["kill", "body", { session: "4f3a9c01" }],
    ["explain_policy", "body", { event: { tool: "Bash" }, subject: { trust: "unknown", started: "api" } }],
    ["explain_policy", "body", { entry: "a".repeat(64) }],
    ["add_agent", "body", { session_id: "reed", kind: "role", colour: "green" }],
    ["set_agent", "body", { mandate: null }],
    ["send_mail", "body", { to: "reed", body: "rain" }],
    ["add_memory", "body", { content: "a fact", confidence: 0 }],
    ["list_entries", "query", { since: "2026-11-15T05:20:00+01:00", after: "0", quality: "kill" }],
    ["post_rpc", "body", { jsonrpc: "2.0", id: null, method: "initialize", more: 1 }],
    ["install_agent", "body", undefined],
    ["accept_policy", "body", undefined],
  ])("is accepted: %s with the %s %j", (id, part, value) => {
    expect(operation.get(id)?.[part].safeParse(value).error?.issues).toBeUndefined();
  });

  it.each<[id: string, part: "params" | "query" | "body", value: unknown, path: string]>([
    ["login", "body", { code: "" }, "code"],
    ["login", "body", { code: "x", user: "ann" }, ""],
    ["list_approvals", "query", { state: "open" }, "state"],
    ["list_approvals", "query", { order: "best" }, "order"],
    ["list_approvals", "query", { limit: "0" }, "limit"],
    ["list_approvals", "query", { limit: "501" }, "limit"],
    ["list_approvals", "query", { limit: "1.5" }, "limit"],
    ["list_approvals", "query", { after: LONG }, "after"],
    ["list_approvals", "query", { tenant: "acme" }, ""],
    ["get_approval", "params", { id: "" }, "id"],
    ["get_approval", "params", { id: LONG }, "id"],
    ["answer_approval", "body", { decision: "perhaps" }, "decision"],
    ["answer_approval", "body", { decision: "deny", by: "ann" }, ""],
    ["answer_approval", "body", { decision: "deny", note: "a".repeat(4_097) }, "note"],
    ["answer_approval", "body", { decision: "allow_always", prefix: [] }, "prefix"],
    ["answer_approval", "body", { decision: "allow_always", prefix: [""] }, "prefix.0"],
    ["answer_approval", "body", { decision: "allow_always", grant_expires_ms: 0 }, "grant_expires_ms"],
    ["list_grants", "query", { user: "" }, "user"],
    ["list_users", "query", { tenant: "" }, "tenant"],
    ["list_users", "query", { tenant: "a".repeat(129) }, "tenant"],
    ["add_user", "body", { id: "ann", name: "Ann" }, "email"],
    ["add_user", "body", { id: "", name: "Ann", email: "a@b" }, "id"],
    ["set_user", "body", { id: "ben" }, ""],
    ["create_token", "body", { kind: "service" }, "user"],
    ["create_token", "body", { user: "ann", kind: "robot" }, "kind"],
    ["create_token", "body", { user: "ann", started: "magic" }, "started"],
    ["create_token", "body", { user: "ann", secret: "mine" }, ""],
    ["kill", "body", {}, ""],
    ["kill", "body", { all: true, agent: "claude" }, ""],
    ["kill", "body", { all: false }, "all"],
    ["kill", "body", { session: "" }, "session"],
    ["kill", "body", { agent: "claude", reason: LONG }, "reason"],
    ["list_entries", "query", { since: "yesterday" }, "since"],
    ["list_entries", "query", { after: "-1" }, "after"],
    ["list_entries", "query", { quality: "turns" }, "quality"],
    ["get_entry", "params", { cid: "A".repeat(64) }, "cid"],
    ["get_entry", "params", { cid: "a".repeat(63) }, "cid"],
    ["prove_consistency", "query", {}, "from"],
    ["export_ledger", "query", { private: "yes" }, "private"],
    ["accept_policy", "body", { everything: true }, ""],
    ["validate_policy", "body", { rules: "a".repeat(512 * 1024 + 1) }, "rules"],
    ["explain_policy", "body", {}, ""],
    ["explain_policy", "body", { entry: "a".repeat(64), event: { tool: "Bash" } }, ""],
    ["explain_policy", "body", { entry: "short" }, "entry"],
    ["explain_policy", "body", { event: { tool: "Bash" }, subject: { trust: "friend" } }, "subject.trust"],
    ["explain_policy", "body", { event: { tool: "Bash" }, subject: { depth: 33 } }, "subject.depth"],
    ["backtest_policy", "body", { limit: 100_001 }, "limit"],
    ["backtest_policy", "body", { examples: 21 }, "examples"],
    ["add_agent", "body", { kind: "agent" }, "session_id"],
    ["add_agent", "body", { session_id: "a".repeat(129) }, "session_id"],
    ["set_agent", "body", { session_id: "other" }, "session_id"],
    ["list_sessions", "query", { state: "asleep" }, "state"],
    ["list_envelopes", "query", { protocol: "http" }, "protocol"],
    ["list_envelopes", "query", { direction: "up" }, "direction"],
    ["list_envelopes", "query", { edge: "server" }, "edge"],
    ["list_haak_turns", "query", { after: "-2" }, "after"],
    ["show_board", "query", { lines: "501" }, "lines"],
    ["post_board", "body", { content: "" }, "content"],
    ["post_board", "body", { content: "a".repeat(65_537) }, "content"],
    ["send_mail", "body", { to: "reed", body: "" }, "body"],
    ["send_mail", "body", { to: "reed", body: "x", from: "ann" }, ""],
    ["list_mail", "query", { limit: "1001" }, "limit"],
    ["mark_mail_read", "body", { messages: [] }, "messages"],
    ["add_memory", "body", { content: "x", confidence: 1.1 }, "confidence"],
    ["list_memory", "query", { query: "" }, "query"],
    ["install_agent", "body", { version: "1" }, ""],
    ["post_rpc", "body", { jsonrpc: "1.0" }, "jsonrpc"],
    ["post_rpc", "body", { jsonrpc: "2.0", id: 1.5 }, "id"],
    ["post_rpc", "body", { jsonrpc: "2.0", method: "" }, "method"],
    ["stream_acp", "query", { agent: "" }, "agent"],
  ])("is refused: %s with the %s %j", (id, part, value, path) => {
    const issues = operation.get(id)?.[part].safeParse(value).error?.issues ?? [];
    expect(issues.map((issue) => issue.path.join("."))).toContain(path);
  });
});
