import { type Operation, PROBLEM_TYPE } from "@reins/api";
import { parseLossless } from "@reins/kit/lossless";
import type { z } from "zod";

/** The input of a request: path parameters, query and body. */
export interface Input<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  readonly params?: z.input<P>;
  readonly query?: z.input<Q>;
  readonly body?: z.input<B>;
  readonly signal?: AbortSignal | undefined;
}

/** Calls an operation and validates the response against its schema. */
export async function call<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  A extends z.ZodType,
>(operation: Operation<P, Q, B, A>, input: Input<P, Q, B> = {}): Promise<z.output<A>> {
  const response = await request(operation, input);
  return operation.answer.parse(response.status === 204 ? undefined : parseLossless(await response.text()));
}

/** Calls an operation and returns the raw response, for content that is checked byte by byte. */
export async function request<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  A extends z.ZodType,
>(operation: Operation<P, Q, B, A>, input: Input<P, Q, B> = {}): Promise<Response> {
  const { body, signal } = input;
  const response = await fetch(operationUrl(operation.path, input.params, input.query), {
    method: operation.method,
    credentials: "same-origin",
    ...(signal && { signal }),
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    }),
  });
  if (!response.ok) throw await readProblem(response);
  return response;
}

/** Builds the URL of an operation. */
export function operationUrl(path: string, params: unknown, query: unknown): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(Object(params)[name])),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(Object(query)))
    if (value !== undefined) search.set(name, String(value));
  return search.size > 0 ? `${filled}?${search}` : filled;
}

/** An HTTP problem: `title` says what happened, `detail` what to do. */
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

/**
 * Whether to call again: a rejected request would be rejected again; a failed connection or a server that is busy may
 * recover.
 */
export function shouldRetry(failures: number, error: unknown): boolean {
  const isRejected =
    error instanceof ProblemError && error.status < 500 && error.status !== TOO_MANY_REQUESTS;
  return failures < 3 && !isRejected;
}

const TOO_MANY_REQUESTS = 429;

/** Reads the problem from a response. */
async function readProblem(response: Response): Promise<ProblemError> {
  const type = response.headers.get("content-type") ?? "";
  const body = type.startsWith(PROBLEM_TYPE) ? await response.json() : {};
  return new ProblemError(response.status, body);
}
