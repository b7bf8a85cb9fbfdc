import { isObject } from "../wire/message.ts";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * The `Mcp-Param-…` headers that repeat arguments of a call over HTTP, where the tool's schema marks them with
 * `x-mcp-header`. Made from the arguments the call is really made with, so that header and body never disagree.
 */
export function parameterHeaders(schema: unknown, given: unknown): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  if (!isObject(schema) || !isObject(given) || !isObject(schema.properties)) return headers;
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) continue;
    const header = property["x-mcp-header"];
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    const text = textOf(value);
    if (typeof header === "string" && TOKEN.test(header) && text !== undefined) {
      headers[`Mcp-Param-${header}`] = headerValue(text);
    }
    Object.assign(headers, parameterHeaders(property, value));
  }
  return headers;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  return undefined;
}

/** A text as a header may carry it: as it is where that is safe, else marked as base64. */
export function headerValue(text: string): string {
  const isSafe = /^[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
  return isSafe ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}
