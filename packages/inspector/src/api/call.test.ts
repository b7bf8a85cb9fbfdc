import { runOperations } from "@reins/api";
import { ApiError, ConnectionError } from "@reins/sdk";
import { afterEach, expect, test, vi } from "vitest";
import { call, http, shouldRetry } from "./queries.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("a call goes to the origin of the page, without a token", async () => {
  const asked: [string, RequestInit][] = [];
  vi.stubGlobal("fetch", async (...request: [string, RequestInit]) => {
    asked.push(request);
    return Response.json({ runs: [] });
  });
  await expect(call(runOperations.listRuns)).resolves.toEqual({ runs: [] });
  expect(asked).toMatchObject([["http://localhost/v1/runs", { method: "GET" }]]);
  expect(asked[0]?.[1].headers).not.toHaveProperty("authorization");
  expect(http.giveUpMs).toBe(Number.POSITIVE_INFINITY);
});

test.each([
  [new ApiError(404, undefined), 0, false],
  [new ApiError(409, undefined), 0, false],
  [new ApiError(429, undefined), 0, true],
  [new ApiError(503, undefined), 2, true],
  [new ApiError(503, undefined), 3, false],
  [new ConnectionError("unreachable", "gone"), 0, true],
])("%s after %i failures is tried again: %s", (error, failures, isRetried) => {
  expect(shouldRetry(failures, error)).toBe(isRetried);
});
