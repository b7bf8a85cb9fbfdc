import { NoMembers, RpcMessage } from "@reins/api";
import type { z } from "zod";

/** What a message has at most; a longer one is for the schema to judge. */
const MOST_ID = 1_024;
const MOST_METHOD = 256;

const CHECKS: ReadonlyMap<z.ZodType, (value: object) => boolean> = new Map([
  [NoMembers, isEmpty],
  [RpcMessage, isMessage],
]);

/**
 * Whether a value certainly is what a schema would make of it. Of anything else the schema knows more: this is for what
 * comes so often that to ask the schema would cost more than the answer.
 */
export function surelyFits(schema: z.ZodType, value: unknown): boolean {
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
