import { z } from "zod";
import { Nothing, type Operation } from "./operation.ts";
import { PROBLEM_TYPE, PROBLEMS, Problem, type ProblemCode } from "./problem.ts";
import { schemas } from "./schema.ts";

/** The title and version of an API description. */
interface ApiInfo {
  readonly title: string;
  readonly version: string;
}

type Json = Readonly<Record<string, unknown>>;

/** The problems of any request, those of one that needs a principal, and those of one with a name in its path. */
const ALWAYS: readonly ProblemCode[] = [
  ...(["invalid", "forbidden", "too_many_requests", "unavailable"] as const),
  // What arrives too slowly, or with too much in front of it, is refused before an operation reads it.
  ...(["timeout", "headers_too_large"] as const),
];
const AUTHENTICATED: readonly ProblemCode[] = ["unauthenticated"];
const OF_NAMES: readonly ProblemCode[] = ["too_long"];
const OF_BODIES: readonly ProblemCode[] = ["too_large", "unsupported_media_type"];

const SECURITY_SCHEMES: Json = {
  bearer: { type: "http", scheme: "bearer" },
  api_key: { type: "apiKey", in: "header", name: "x-api-key" },
};

/** Describes operations in OpenAPI 3.1, from the schemas that check them. */
export function openApi(
  operations: readonly Operation[],
  { title, version }: ApiInfo,
): Json & { openapi: string } {
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const { path, method } = operation;
    paths[path] = { ...paths[path], [method.toLowerCase()]: described(operation) };
  }
  return {
    openapi: "3.1.0",
    info: { title, version },
    security: Object.keys(SECURITY_SCHEMES).map((scheme) => ({ [scheme]: [] })),
    paths,
    components: {
      schemas: namedSchemas(),
      responses: namedResponses(),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function described(operation: Operation): Json {
  const { id, method, summary, audience, params, query, headers, body, events, takes } = operation;
  const parameters = [
    ...parametersIn("path", params),
    ...parametersIn("query", query),
    ...(headers ? parametersIn("header", headers) : []),
    ...(events === undefined || method !== "GET" ? [] : [LAST_EVENT_ID]),
  ];
  return {
    operationId: id,
    summary,
    ...(audience === "anyone" && { security: [] }),
    "x-audience": audience,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== Nothing && {
      requestBody: {
        required: !body.safeParse(undefined).success,
        content: { "application/json": { schema: schemaOf(body) } },
      },
    }),
    ...(takes !== undefined && {
      requestBody: { required: true, content: { [takes]: { schema: { type: "string", format: "binary" } } } },
    }),
    responses: responsesOf(operation),
  };
}

const LAST_EVENT_ID: Json = {
  name: "Last-Event-ID",
  in: "header",
  required: false,
  schema: { type: "integer", minimum: 0 },
};

/** The responses of an operation, by status. */
function responsesOf(operation: Operation): Json {
  const { method, path, status, answer, also, events, json, media, audience, problems } = operation;
  const type = events === undefined ? (media ?? "application/json") : "text/event-stream";
  const done = [
    [status, doneWith(answer, type, json)],
    ...(also ? [[also.status, doneWith(also.answer, type)]] : []),
  ];
  const codes = new Set([
    ...ALWAYS,
    ...(audience === "anyone" ? [] : AUTHENTICATED),
    ...(path.includes("{") ? OF_NAMES : []),
    // A client may send a body where none is expected.
    ...(method === "GET" ? [] : OF_BODIES),
    ...problems,
  ]);
  const refusals = [...codes].map((code) => [
    PROBLEMS[code].status,
    { $ref: referenceTo("responses", code) },
  ]);
  return Object.fromEntries([...done, ...refusals]);
}

function doneWith(answer: z.ZodType, type: string, json?: z.ZodType): Json {
  const whole = json ? { "application/json": { schema: schemaOf(json) } } : {};
  const content = answer === Nothing ? {} : { content: { [type]: { schema: schemaOf(answer) }, ...whole } };
  return { description: "Done", ...content };
}

function namedResponses(): Json {
  const content = { [PROBLEM_TYPE]: { schema: schemaOf(Problem) } };
  const responses = Object.entries(PROBLEMS).map(([code, { title }]) => [
    code,
    { description: title, content },
  ]);
  return Object.fromEntries(responses);
}

/** The members of an object, each a parameter. */
function parametersIn(place: "path" | "query" | "header", schema: z.ZodType): Json[] {
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).map(([name, member]) => {
    const { $schema: _, description, ...rest } = z.toJSONSchema(member, { io: "input" });
    const required = place === "path" || !z.safeParse(member, undefined).success;
    return { name, in: place, required, ...(description !== undefined && { description }), schema: rest };
  });
}

/** A reference where a schema has a name, else the schema itself. */
function schemaOf(schema: z.ZodType): Json {
  const target = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  const name = target instanceof z.ZodType ? schemas.get(target)?.id : undefined;
  if (name !== undefined) return { $ref: referenceTo("schemas", name) };
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input" });
  return rest;
}

function namedSchemas(): Json {
  const { schemas: all } = z.toJSONSchema(schemas, { uri: (id) => referenceTo("schemas", id), io: "input" });
  return Object.fromEntries(
    Object.entries(all).map(([name, { $schema: _, $id: __, ...schema }]) => [name, schema]),
  );
}

function referenceTo(kind: "schemas" | "responses", name: string): string {
  return `#/components/${kind}/${name}`;
}
