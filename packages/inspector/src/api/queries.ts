import type { Operation } from "@reins/api";
import { ApiError } from "@reins/sdk";
import { Http, type OperationInput } from "@reins/sdk/http";
import {
  type QueryClient,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import type { z } from "zod";

/** Options of {@link useGet}: the input of the operation, and when it is called. */
interface GetOptions<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>
  extends Omit<OperationInput<P, Q, B>, "signal"> {
  /** Refetches at this interval, in milliseconds. */
  readonly everyMs?: number;
  /** How long the data counts as current, in milliseconds. */
  readonly staleTime?: number;
  readonly enabled?: boolean;
}

/** Calls an operation and caches the response under a key. */
export function useGet<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
  queryKey: readonly unknown[],
  operation: Operation<P, Q, B, A>,
  { everyMs, staleTime, enabled, ...input }: GetOptions<P, Q, B> = {},
): UseQueryResult<z.output<A>> {
  return useQuery({
    queryKey,
    queryFn: ({ signal }) => call(operation, { ...input, signal }),
    ...(everyMs !== undefined && { refetchInterval: everyMs }),
    ...(staleTime !== undefined && { staleTime }),
    ...(enabled !== undefined && { enabled }),
  });
}

/** A change on the server. When it succeeds, the queries of a key are fetched again and `then` runs. */
export function useChange<Result, Argument = void>(
  queryKey: readonly unknown[],
  change: (argument: Argument) => Promise<Result>,
  then?: (result: Result) => void,
): UseMutationResult<Result, Error, Argument> {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: (result) => {
      void queries.invalidateQueries({ queryKey });
      then?.(result);
    },
  });
}

/**
 * Applies a change that a stream reported to cached data. A response that is being fetched may be older than the
 * change, so it is fetched again.
 */
export function patchQuery<Data>(
  queries: QueryClient,
  queryKey: readonly unknown[],
  patch: (known: Data) => Data,
): void {
  queries.setQueryData<Data>(queryKey, (known) => known && patch(known));
  if (queries.isFetching({ queryKey }) > 0) void queries.invalidateQueries({ queryKey });
}

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
