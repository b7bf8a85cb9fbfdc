import { isRecord } from "@reins/kit";
import { canonicalResource } from "../declaration/conflicts.ts";
import type { ExecutorType } from "../declaration/grammar.ts";
import type { GraphAction } from "../declaration/graph.ts";
import { ProtocolError } from "../declaration/protocol-error.ts";

/** Something that can execute actions. */
export interface Executor {
  readonly name: string;
  readonly type: ExecutorType;
  readonly description: string;
  readonly capabilities: readonly string[];
  /** The JSON Schema of what it takes as input, where that has a form. */
  readonly input?: Readonly<Record<string, unknown>> | undefined;
  /** Whether it may be given work at all; an agent that only answers questions may not. */
  readonly canExecute?: boolean;
  readonly isAvailable?: boolean;
  /** What it costs beside others; less is chosen first. */
  readonly cost?: number;
  /** Whether it changes nothing. */
  readonly isReadOnly?: boolean;
  /** Whether what an action declares to write keeps it from writing anything else in the workspace. */
  readonly bindsWrites?: boolean;
}

/** The registry as a model is shown it. */
export function registryView(executors: readonly Executor[]): { readonly executors: readonly object[] } {
  return {
    executors: executors.map(({ name, type, description, capabilities, input, canExecute }) => ({
      ...{ name, type, description, capabilities },
      ...(input && { input: shownSchema(input) }),
      ...(canExecute !== undefined && { can_execute: canExecute }),
    })),
  };
}

/** The longest schema that is shown in full, in characters. */
const LONGEST_SCHEMA = 4_000;
/** The most members that are shown of a longer one. */
const MOST_MEMBERS = 50;

/** A schema as a model is shown it: of a long one the names and types of its members. */
function shownSchema({ $schema: _, ...schema }: Readonly<Record<string, unknown>>): object {
  if (JSON.stringify(schema).length <= LONGEST_SCHEMA) return schema;
  const { properties, required } = schema;
  const members = Object.entries(isRecord(properties) ? properties : {}).slice(0, MOST_MEMBERS);
  const short = (text: unknown) => typeof text === "string" && text.length <= MOST_MEMBERS;
  return {
    type: "object",
    properties: Object.fromEntries(
      members
        .filter(([name]) => short(name))
        .map(([name, member]) => [name, isRecord(member) && short(member.type) ? { type: member.type } : {}]),
    ),
    required: Array.isArray(required) ? required.filter(short).slice(0, MOST_MEMBERS) : [],
  };
}

/**
 * Why a value does not fit a JSON Schema, as far as its types, choices and names of members say: what else a schema asks for
 * is for its executor. A reference fits everywhere.
 */
export function misfit(schema: unknown, value: unknown, path = "the input"): string | undefined {
  if (!isRecord(schema) || (isRecord(value) && "$ref" in value)) return undefined;
  const {
    type,
    enum: choices,
    required,
    properties,
    patternProperties,
    additionalProperties,
    items,
  } = schema;
  const types = [type].flat().filter((one) => typeof one === "string");
  if (types.length > 0 && !types.some((one) => isOfType(one, value)))
    return `${path} has to be of type ${types.join(" or ")}`;
  if (Array.isArray(choices) && typeof value === "string" && !choices.includes(value))
    return `${path} has to be one of ${choices.map((one) => JSON.stringify(one)).join(", ")}`;
  if (Array.isArray(value)) return first(value, (item, index) => misfit(items, item, `${path}[${index}]`));
  if (!isRecord(value) || isNumber(value)) return undefined;
  const known = isRecord(properties) ? properties : {};
  const missing = Array.isArray(required)
    ? required.find((name) => !Object.hasOwn(value, String(name)))
    : undefined;
  if (missing !== undefined) return `${path} has no ${String(missing)}`;
  const isClosed = additionalProperties === false && patternProperties === undefined;
  return first(Object.entries(value), ([name, member]) => {
    if (Object.hasOwn(known, name)) return misfit(known[name], member, `${path}.${name}`);
    return isClosed
      ? `${path} takes no ${name}, but ${Object.keys(known).join(", ") || "nothing"}`
      : undefined;
  });
}

function first<Item>(
  items: readonly Item[],
  check: (item: Item, index: number) => string | undefined,
): string | undefined {
  for (const [index, item] of items.entries()) {
    const found = check(item, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether a value is a number, also one that JavaScript cannot hold. */
function isNumber(value: unknown): boolean {
  return typeof value === "number" || JSON.isRawJSON(value);
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case "object":
      return isRecord(value) && !isNumber(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "integer":
      return isNumber(value) && (typeof value !== "number" || Number.isInteger(value));
    case "number":
      return isNumber(value);
    case "string":
    case "boolean":
      return typeof value === type;
    default:
      return true;
  }
}

/**
 * Chooses who executes an action: the target it names, or the best match of its type and capabilities that is
 * available and that the policy allows; among equals the cheapest, then the first. Throws a {@link ProtocolError} that
 * lists the registry when none fits.
 */
export function chooseExecutor(
  { id, executor: { type, target, capabilities } }: Pick<GraphAction, "id" | "executor">,
  registry: readonly Executor[],
  mayUse: (executor: Executor) => boolean = () => true,
): Executor {
  const able = registry.filter(
    (one) =>
      one.canExecute !== false && one.isAvailable !== false && (type === undefined || one.type === type),
  );
  const named = target === "auto" ? able : able.filter(({ name }) => name === target);
  const matching = named
    .map((executor) => ({ executor, matches: matchesOf(executor, capabilities) }))
    .filter(({ matches }) => target !== "auto" || capabilities.length === 0 || matches > 0)
    .toSorted((one, two) => two.matches - one.matches || (one.executor.cost ?? 0) - (two.executor.cost ?? 0));
  const found = matching.find(({ executor }) => mayUse(executor));
  if (found) return found.executor;
  const wanted = [type ?? "any type", target, ...capabilities].join(", ");
  const why = matching.length > 0 ? "the policy allows none of those that fit" : "no executor fits";
  const listed = registry.map((one) => `${one.name} (${one.type}: ${one.capabilities.join(", ")})`);
  throw new ProtocolError(
    "executor",
    `${why} ${id}, which wants ${wanted}. There are: ${listed.join("; ") || "none"}`,
  );
}

function matchesOf({ capabilities }: Executor, wanted: readonly string[]): number {
  return wanted.filter((one) => capabilities.some((has) => has === one || has.startsWith(`${one}.`))).length;
}

/**
 * What an action writes, in the one spelling of each resource: what it declares where its executor is kept to that, else the
 * whole workspace, unless its executor changes nothing. What a declaration says of side effects is a claim.
 */
export function writesOf(
  { writes }: Pick<GraphAction, "writes">,
  { isReadOnly, bindsWrites }: Executor,
  root?: string,
): readonly string[] {
  if (isReadOnly) return [];
  if (!writes || !bindsWrites) return ["*"];
  return [...new Set(writes.map((resource) => canonicalResource(resource, root)))];
}
