import { type Operation, PROBLEM_TYPE } from "@reins/api";
import type { z } from "zod";
import { parseExact } from "./parse.ts";

/** What a request brings along: what stands in its path, after it, and in its body. */
export interface Input<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  readonly params?: z.input<P>;
  readonly query?: z.input<Q>;
  readonly body?: z.input<B>;
  readonly signal?: AbortSignal | undefined;
}

/** Asks the server for something; what it answers is held to the operation's schema. */
export async function call<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  A extends z.ZodType,
>(operation: Operation<P, Q, B, A>, input: Input<P, Q, B> = {}): Promise<z.output<A>> {
  const response = await request(operation, input);
  return operation.answer.parse(response.status === 204 ? undefined : parseExact(await response.text()));
}

/** Asks the server for something and gives the answer as it comes, for what has to be looked at to the byte. */
export async function request<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  A extends z.ZodType,
>(operation: Operation<P, Q, B, A>, input: Input<P, Q, B> = {}): Promise<Response> {
  const { body, signal } = input;
  const response = await fetch(addressOf(operation.path, input.params, input.query), {
    method: operation.method,
    credentials: "same-origin",
    ...(signal && { signal }),
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    }),
  });
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** The address of an operation, with what stands in its path and after it. */
export function addressOf(path: string, params: unknown, query: unknown): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(Object(params)[name])),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(Object(query)))
    if (value !== undefined) search.set(name, String(value));
  return search.size > 0 ? `${filled}?${search}` : filled;
}

/** What the server could not do, as it says it: `title` is what happened, `detail` what to do. */
export class ProblemError extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string | undefined;

  constructor(status: number, body: { code?: unknown; title?: unknown; detail?: unknown }) {
    const title = typeof body.title === "string" ? body.title : `The server answered ${status}.`;
    const detail = typeof body.detail === "string" ? body.detail : undefined;
    super(detail === undefined ? title : `${title}: ${detail}`);
    this.name = "ProblemError";
    this.status = status;
    this.code = typeof body.code === "string" ? body.code : "unknown";
    this.title = title;
    this.detail = detail;
  }
}

/** The problem that a response tells of. */
async function problemOf(response: Response): Promise<ProblemError> {
  const type = response.headers.get("content-type") ?? "";
  const body = type.startsWith(PROBLEM_TYPE) ? await response.json() : {};
  return new ProblemError(response.status, body);
}
