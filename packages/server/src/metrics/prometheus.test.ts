import { readFile } from "node:fs/promises";
import { systemClock } from "@reins/kit";
import { expect, test } from "vitest";
import { Measures } from "./measures.ts";
import { prometheusText } from "./prometheus.ts";

const GUIDE = new URL("../../../../docs/operations.md", import.meta.url);
const standing = {
  reports: [],
  ...{ pending: 0, oldestWaitMs: null, live: 0, running: 0, agents: 0, memoryBytes: null, entries: 0 },
  memory: process.memoryUsage(),
  compliance: { messages: 0, compliant: 0, recovered: 0, violations: 0, errors: 0 },
};

test("every metric is documented with its name and kind, and no other", async () => {
  const text = prometheusText(new Measures(systemClock), standing, "1.2.3", { count: 0, totalMs: 0 });
  const told = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, kind]) => `${name} ${kind}`);
  const guide = await readFile(GUIDE, "utf8");
  const documented = [...guide.matchAll(/^\| `(\w+)` \| (counter|gauge|histogram) \|/gm)];
  expect(told.toSorted()).toEqual(documented.map(([, name, kind]) => `${name} ${kind}`).toSorted());
});

test("how well models keep to the protocol is counted: what was recovered, violated and refused", () => {
  const compliance = { messages: 7, compliant: 4, recovered: 2, violations: 3, errors: 1 };
  const counts = { ...standing, compliance };
  const text = prometheusText(new Measures(systemClock), counts, "1.2.3", { count: 0, totalMs: 0 });
  const values = [...text.matchAll(/^reins_protocol_(\w+) (\d+)$/gm)].map(([, name, value]) => [
    name,
    Number(value),
  ]);
  expect(values.map(([, value]) => value)).toEqual([7, 4, 2, 3, 1]);
});
