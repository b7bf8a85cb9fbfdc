import { NoMembers, Nothing, type Operation, RpcMessage } from "@reins/api";
import { memberFaults } from "@reins/kit";
import type { z } from "zod";
import { HttpProblem } from "../problems.ts";

/** The unparsed parts of a request. */
export interface Given {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** Validates a request by the schemas of its operation. Rejects it with one error per member. */
export function readCall<Op extends Operation>(
  operation: Op,
  { params, query, body }: Given,
): {
  readonly params: z.output<Op["params"]>;
  readonly query: z.output<Op["query"]>;
  readonly body: z.output<Op["body"]>;
};
export function readCall(operation: Operation, given: Given) {
  return {
    params: read("path", operation.params, given.params),
    query: read("query", operation.query, given.query),
    body: operation.body === Nothing ? undefined : read("body", operation.body, given.body),
  };
}

function read(part: string, schema: z.ZodType, given: unknown): unknown {
  if (fitsQuickly(schema, given)) return given;
  const checked = schema.safeParse(given);
  if (checked.success) return checked.data;
  const errors = memberFaults(checked.error).map(({ path, message }) => ({
    path: path === "" ? part : `${part}.${path}`,
    message,
  }));
  const detail = errors.map(({ path, message }) => `${path} ${message}`).join("; ");
  throw new HttpProblem("invalid", detail, { errors });
}

/** Returns a value unchanged after checking it against a schema of the API. A mismatch is an error of the server. */
export function conforming<Schema extends z.ZodType>(schema: Schema, value: unknown): z.input<Schema> {
  if (conforms(schema, value)) return value;
  throw new Error("a response does not have the form that the API describes");
}

function conforms<Schema extends z.ZodType>(schema: Schema, value: unknown): value is z.input<Schema> {
  return schema.safeParse(value).success;
}

/** Limits of the fast check; the schema decides about longer values. */
const MOST_ID = 1_024;
const MOST_METHOD = 256;

const CHECKS: ReadonlyMap<z.ZodType, (value: object) => boolean> = new Map([
  [NoMembers, isEmpty],
  [RpcMessage, isMessage],
]);

/** A fast check for frequent schemas: true only if the schema would accept the value unchanged. */
export function fitsQuickly(schema: z.ZodType, value: unknown): boolean {
  const check = CHECKS.get(schema);
  return check !== undefined && typeof value === "object" && value !== null && check(value);
}

function isEmpty(value: object): boolean {
  for (const _ in value) return false;
  return !Array.isArray(value);
}

function isMessage(value: object): boolean {
  if (!("jsonrpc" in value) || value.jsonrpc !== "2.0" || Array.isArray(value)) return false;
  return (!("id" in value) || isId(value.id)) && (!("method" in value) || isMethod(value.method));
}

function isId(id: unknown): boolean {
  if (typeof id === "string") return id.length <= MOST_ID;
  return id === null || Number.isSafeInteger(id);
}

function isMethod(method: unknown): boolean {
  return typeof method === "string" && method !== "" && method.length <= MOST_METHOD;
}

const DEFAULT = 100;

/** A page of items, and the cursor of the next. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string;
}

/** Reads a page; one item more tells whether there is a next page. */
export async function pageOf<Item extends { readonly id: string }>(
  limit: number = DEFAULT,
  read: (limit: number) => Promise<readonly Item[]>,
): Promise<Page<Item>> {
  const found = await read(limit + 1);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(found.length > limit && last && { next: last.id }) };
}
