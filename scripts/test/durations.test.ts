import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../root.ts";
import { durationsIn } from "./durations.ts";

it("lists the files that take long, longest first, by their path in the repository", () => {
  const file = (name: string, seconds: number) => ({
    ...{ name: join(root, name), startTime: 1_000, endTime: 1_000 + seconds * 1_000 },
    ...{ status: "passed" as const, message: "", assertionResults: [] },
  });
  const testResults = [file("a.test.ts", 7), file("b.test.ts", 41.6), file("c.test.ts", 2)];
  expect(Object.entries(durationsIn({ testResults }))).toEqual([
    ["b.test.ts", 42],
    ["a.test.ts", 7],
  ]);
});
