import { systemClock } from "@reins/kit";
import { expect, test } from "vitest";
import { Measures } from "./measures.ts";

test("requests are counted by method, unknown ones together", () => {
  const measures = new Measures(systemClock);
  const rest = { route: null, path: "/", ms: 1, principal: null, streams: false };
  for (const method of ["GET", "GET", "BREW", "WHEN", "x".repeat(5_000)])
    measures.answered({ method, status: 404, ...rest });
  expect(measures.requests.series).toEqual([
    { labels: { method: "GET", status: "4xx" }, value: 2 },
    { labels: { method: "other", status: "4xx" }, value: 3 },
  ]);
});
