import { runOperations, sessionOperations } from "@reins/api";
import { ApiError } from "@reins/sdk";
import { QueryClient } from "@tanstack/react-query";
import { createElement } from "react";
import { describe, expect, test, vi } from "vitest";
import { cached, renderedText } from "../../test/render.ts";
import { patchQuery, shouldRetry, useGet } from "./queries.ts";

const KEY = ["list"] as const;

describe("a change that a stream reports", () => {
  test("is applied to cached data", () => {
    const queries = new QueryClient();
    queries.setQueryData(KEY, [1, 2]);
    patchQuery<readonly number[]>(queries, KEY, (known) => [...known, 3]);
    expect(queries.getQueryData(KEY)).toEqual([1, 2, 3]);
  });

  test("is ignored before the data is loaded", () => {
    const queries = new QueryClient();
    const patch = vi.fn();
    patchQuery(queries, KEY, patch);
    expect(patch).not.toHaveBeenCalled();
    expect(queries.getQueryData(KEY)).toBeUndefined();
  });

  test("makes a running fetch start again, whose response may be older", async () => {
    const queries = new QueryClient();
    const responses = [Promise.withResolvers<number[]>(), Promise.withResolvers<number[]>()];
    let calls = 0;
    const queryFn = () => responses[calls++]!.promise;
    const observed = queries.fetchQuery({ queryKey: KEY, queryFn, staleTime: 0 }).catch(() => undefined);
    const invalidated = vi.spyOn(queries, "invalidateQueries");
    patchQuery<readonly number[]>(queries, KEY, (known) => known);
    expect(invalidated).toHaveBeenCalledExactlyOnceWith({ queryKey: KEY });
    responses[0]!.resolve([1]);
    responses[1]!.resolve([2]);
    await observed;
    queries.clear();
  });

  test("does not fetch otherwise", () => {
    const queries = new QueryClient();
    queries.setQueryData(KEY, 1);
    const invalidated = vi.spyOn(queries, "invalidateQueries");
    patchQuery<number>(queries, KEY, (known) => known + 1);
    expect(invalidated).not.toHaveBeenCalled();
  });
});

const Count = () => {
  const { data, isPending } = useGet(["runs"], runOperations.listRuns);
  return createElement("p", null, isPending ? "pending" : `${data?.runs.length} runs`);
};
const One = ({ id }: { id: string }) => {
  const { fetchStatus } = useGet(["one", id], sessionOperations.getSession, {
    params: { id },
    enabled: false,
  });
  return createElement("p", null, fetchStatus);
};

describe("the response of an operation", () => {
  test("is the cached one", () => {
    expect(renderedText(createElement(Count), cached([["runs"], { runs: [] }]))).toBe("0 runs");
    expect(renderedText(createElement(Count))).toBe("pending");
  });

  test("is not fetched while the query is disabled", () => {
    expect(renderedText(createElement(One, { id: "s" }))).toBe("idle");
  });
});

describe("a failed request", () => {
  const rejected = new ApiError(403, { title: "Forbidden" });
  const busy = new ApiError(429, { title: "Too Many Requests" });
  const broken = new ApiError(503, { title: "Unavailable" });

  test.each([
    [0, new TypeError("failed to fetch"), true],
    [2, new TypeError("failed to fetch"), true],
    [3, new TypeError("failed to fetch"), false],
    [0, rejected, false],
    [0, busy, true],
    [3, busy, false],
    [0, broken, true],
    [3, broken, false],
  ])("after %d failures with %s is retried: %s", (failures, error, isRetried) => {
    expect(shouldRetry(failures, error)).toBe(isRetried);
  });
});
