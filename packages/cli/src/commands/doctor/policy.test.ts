import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { defaultFile } from "@reins/policy";
import { expect, it } from "vitest";
import { areEarlierRules, SHIPPED_RULES } from "./doctor.ts";

it("has the current default rules as the last hash", async () => {
  const today = await readFile(defaultFile("default.yaml"), "utf8");
  expect(SHIPPED_RULES.at(-1)).toBe(hash("sha256", today, "hex"));
  expect(areEarlierRules(today)).toBe(false);
});
