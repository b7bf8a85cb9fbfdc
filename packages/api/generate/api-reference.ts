import { z } from "zod";
import { Nothing, type Operation } from "../src/operation.ts";
import { agentOperations, hostOperations, operations, operatorOperations } from "../src/operations.ts";
import { PROBLEMS } from "../src/problem.ts";
import { schemas } from "../src/schema.ts";

/** Where the page about the API is kept. */
export const API_REFERENCE = new URL("../../../docs/reference/api.md", import.meta.url);

/** The page with the authorization matrix. */
export const ACCESS_REFERENCE = new URL("../../../docs/reference/access.md", import.meta.url);

/** All that a Reins which hosts agents can be asked for. */
export const everyOperation: readonly Operation[] = [
  ...operations,
  ...operatorOperations,
  ...agentOperations,
  ...hostOperations,
];

const INTRODUCTION = `# HTTP API

Made from the schemas that check every request, by \`npm run schemas\`; a running Reins serves the same, for programs, at
\`/openapi.json\`.

A program shows a token: \`Authorization: Bearer <token>\`, of \`start-token\` in the home or of \`reins token create\`. A browser
has the cookie that it got for a one-time code. Whatever comes to nothing is \`application/problem+json\` with \`code\`, \`title\`
and \`detail\`; any request may be answered 400, 401, 403, 408, 414, 429, 431 or 503 beside what is listed. Members that are not known here
are to be ignored: there may be more.`;

const AUDIENCES: Readonly<Record<Operation["audience"], string>> = {
  anyone: "anyone, without a token",
  principal: "anyone with a token",
  person: "people and services, never an agent",
  admin: "admins",
  server: "admins of the default tenant",
};

/** Every operation with what goes in and what comes out, as a page of documentation. */
export function apiReference(operations: readonly Operation[]): string {
  const byPlace = Map.groupBy(operations, ({ path }) => placeOf(path));
  const places = [...byPlace].toSorted(([one], [other]) => one.localeCompare(other));
  const sections = places.map(([place, all]) => `## ${place}\n\n${all.map(sectionOf).join("\n\n")}`);
  const shapes = shapesIn(operations).map(([name, shape]) => `### ${name}\n\n${shapeOf(shape)}`);
  return `${[INTRODUCTION, ...sections, "## Shapes", ...shapes].join("\n\n")}\n`;
}

/** The schemas with a name that operations speak of, directly or through others, by name. */
function shapesIn(operations: readonly Operation[]): [string, z.core.$ZodType][] {
  const found = new Map<string, z.core.$ZodType>();
  const seen = new Set<z.core.$ZodType>();
  const look = (schema: z.core.$ZodType): void => {
    if (seen.has(schema)) return;
    seen.add(schema);
    const name = schemas.get(schema)?.id;
    if (name !== undefined) found.set(name, schema);
    for (const part of partsOf(schema)) look(part);
  };
  for (const { body, answer, also } of operations)
    for (const one of [body, answer, also?.answer]) if (one) look(one);
  return [...found].toSorted(([one], [other]) => one.localeCompare(other));
}

function partsOf(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  if (schema instanceof z.ZodObject) return Object.values(schema.shape);
  if (schema instanceof z.ZodArray) return [schema.element];
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return [schema.unwrap()];
  if (schema instanceof z.ZodUnion) return schema.options;
  return [];
}

function shapeOf(schema: z.core.$ZodType): string {
  if (schema instanceof z.ZodUnion) return schema.options.map(shapeOf).join("\n\nor\n\n");
  if (schema instanceof z.ZodObject) return members("member", schema) ?? "No members are named.";
  return `${capital(unnamedType(schema))}.`;
}

/** The first words of a path: what it is about. */
function placeOf(path: string): string {
  const [, first = "", second] = path.split("/");
  return first === "v1" && second !== undefined ? `/v1/${second}` : `/${first}`;
}

function sectionOf(operation: Operation): string {
  const { method, path, summary, audience, params, query, body, answer, status, events, media } = operation;
  const { problems, also, json } = operation;
  const statuses = also === undefined ? status : `${status} or ${also.status}`;
  const refusals = problems.map((code) => `${PROBLEMS[code].status} \`${code}\``).join(", ");
  const form = events === undefined ? media : `a stream of server-sent events named \`${events}\``;
  const parts = [
    `### ${method} ${path}`,
    summary,
    `For ${AUDIENCES[audience]}. Answers ${statuses}${form === undefined ? "" : `, ${form}`}${refusals && `; or ${refusals}`}.`,
    members("in the path", params),
    members("after `?`", query),
    members("in the body", body),
    members(events === undefined ? "in the answer" : "in each event", answer),
    also && members(`in the answer with ${also.status}`, also.answer),
    json && members("in one answer as JSON", json),
  ];
  return parts.filter((part) => part !== undefined).join("\n\n");
}

/** A table of the members of an object; a sentence for anything else; nothing for nothing. */
function members(where: string, schema: z.ZodType): string | undefined {
  if (schema === Nothing) return undefined;
  const target = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  if (where !== "member" && schemas.has(target)) return `${capital(where)}: ${typeOf(target)}.`;
  if (!(target instanceof z.ZodObject)) return `${capital(where)}: ${typeOf(schema)}.`;
  const rows = Object.entries(target.shape).map(([name, member]) => rowOf(name, member));
  if (rows.length === 0) return undefined;
  return [`| ${where} | is | |`, "| --- | --- | --- |", ...rows].join("\n");
}

function rowOf(name: string, member: z.core.$ZodType): string {
  const isNeeded = !z.safeParse(member, undefined).success;
  const description = member instanceof z.ZodType ? (member.description ?? "") : "";
  return `| \`${name}\`${isNeeded ? "" : " (optional)"} | ${cell(typeOf(member))} | ${cell(description)} |`;
}

/** What a value is, in a few words. */
function typeOf(schema: z.core.$ZodType): string {
  const name = schemas.get(schema)?.id;
  return name === undefined ? unnamedType(schema) : `[${name}](#${name.toLowerCase()})`;
}

function unnamedType(schema: z.core.$ZodType): string {
  if (schema instanceof z.ZodOptional) return typeOf(schema.unwrap());
  if (schema instanceof z.ZodNullable) return `${typeOf(schema.unwrap())} \\| null`;
  if (schema instanceof z.ZodArray) return `a list: ${typeOf(schema.element)}`;
  const written = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return wordsFor(written);
}

type Written = z.core.JSONSchema.BaseSchema;

function wordsFor(written: Written | boolean | undefined): string {
  if (typeof written !== "object") return "anything";
  const { type, items, anyOf, oneOf } = written;
  if (written.enum) return written.enum.map((value) => `\`${String(value)}\``).join(" \\| ");
  if (written.const !== undefined) return `\`${String(written.const)}\``;
  const choices = anyOf ?? oneOf;
  if (choices) return [...new Set(choices.map(wordsFor))].join(" \\| ");
  if (type === "array") return `a list: ${Array.isArray(items) ? "several" : wordsFor(items)}`;
  return [type ?? "anything"].flat().join(" \\| ");
}

function cell(text: string): string {
  return text.replaceAll("\n", " ").replaceAll(/(?<!\\)\|/g, "\\|");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
