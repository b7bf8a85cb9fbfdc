import { EventType } from "@reins/ahp";
import { CONTROL_EVENTS } from "@reins/policy";
import { expect, test } from "vitest";

test("rules can name every control event of the protocol, and no other", () => {
  expect([...CONTROL_EVENTS]).toEqual([...EventType.options]);
});
