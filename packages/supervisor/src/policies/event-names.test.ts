import { EventType } from "@reins/ahp";
import { loadPolicy } from "@reins/policy";
import { expect, test } from "vitest";

test.each(EventType.options)("a constitution can name the event %s of the protocol", (event) => {
  const rules = `tool_rules: [{ name: r, condition: { event: ${event} }, verdict: blocked }]`;
  expect(loadPolicy({ file: "c.yaml", rules, prose: Buffer.from("x") }).rules).toHaveLength(1);
});
