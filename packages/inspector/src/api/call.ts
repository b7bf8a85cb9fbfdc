import type { Operation } from "@reins/api";
import { ApiError } from "@reins/sdk";
import { Http, type OperationInput } from "@reins/sdk/http";
import type { z } from "zod";

/** The server that this page is from. A lost stream is opened again for as long as the page is. */
export const http = new Http(globalThis.location?.origin ?? "http://localhost", {
  giveUpMs: Number.POSITIVE_INFINITY,
  // Looked up with each request, as the browser has it.
  fetch: (...request) => fetch(...request),
});

/** Calls an operation and validates the response against its schema. */
export function call<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
  operation: Operation<P, Q, B, A>,
  input: OperationInput<P, Q, B> = {},
): Promise<z.output<A>> {
  return http.call(operation, input);
}

/**
 * Whether to call again: a rejected request would be rejected again; a failed connection or a server that is busy may
 * recover.
 */
export function shouldRetry(failures: number, error: unknown): boolean {
  const isRejected = error instanceof ApiError && error.status < 500 && error.status !== TOO_MANY_REQUESTS;
  return failures < 3 && !isRejected;
}

const TOO_MANY_REQUESTS = 429;
