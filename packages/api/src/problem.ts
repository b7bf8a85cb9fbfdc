import { z } from "zod";
import { named } from "./schema.ts";

/** Every problem code of the API with its status and its reason phrase (RFC 9110, RFC 6585). */
export const PROBLEMS = {
  invalid: { status: 400, title: "Bad Request" },
  unauthenticated: { status: 401, title: "Unauthorized" },
  forbidden: { status: 403, title: "Forbidden" },
  not_found: { status: 404, title: "Not Found" },
  method_not_allowed: { status: 405, title: "Method Not Allowed" },
  not_acceptable: { status: 406, title: "Not Acceptable" },
  timeout: { status: 408, title: "Request Timeout" },
  conflict: { status: 409, title: "Conflict" },
  gone: { status: 410, title: "Gone" },
  precondition_failed: { status: 412, title: "Precondition Failed" },
  too_large: { status: 413, title: "Content Too Large" },
  too_long: { status: 414, title: "URI Too Long" },
  unsupported_media_type: { status: 415, title: "Unsupported Media Type" },
  range_not_satisfiable: { status: 416, title: "Range Not Satisfiable" },
  too_many_requests: { status: 429, title: "Too Many Requests" },
  headers_too_large: { status: 431, title: "Request Header Fields Too Large" },
  internal: { status: 500, title: "Internal Server Error" },
  not_implemented: { status: 501, title: "Not Implemented" },
  bad_gateway: { status: 502, title: "Bad Gateway" },
  unavailable: { status: 503, title: "Service Unavailable" },
  gateway_timeout: { status: 504, title: "Gateway Timeout" },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>;
export type ProblemCode = keyof typeof PROBLEMS;

/** The media type of a {@link Problem}. */
export const PROBLEM_TYPE = "application/problem+json";

/** Why a request failed (RFC 9457). */
export const Problem = named(
  "Problem",
  z.looseObject({
    type: z.string().describe("urn:reins:problem: and the code"),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().describe("what happened, and what to do about it"),
    code: z.string().describe("what programs go by"),
    errors: z
      .array(z.looseObject({ path: z.string(), message: z.string() }))
      .optional()
      .describe("for invalid: what is wrong, member by member"),
  }),
);
export type Problem = z.infer<typeof Problem>;

/** Makes the problem of a code. */
export function problem(code: ProblemCode, detail: string, errors?: Problem["errors"]): Problem {
  const { status, title } = PROBLEMS[code];
  const found = { type: `urn:reins:problem:${code}`, title, status, detail, code };
  return errors ? { ...found, errors } : found;
}

/** The problem code of a status; the nearest one for a status without a code of its own. */
export function codeOfStatus(status: number): ProblemCode {
  const exact = CODES.find((code) => PROBLEMS[code].status === status);
  return exact ?? (status >= 400 && status < 500 ? "invalid" : "internal");
}

const CODES = Object.keys(PROBLEMS).filter(isCode);

function isCode(name: string): name is ProblemCode {
  return Object.hasOwn(PROBLEMS, name);
}
